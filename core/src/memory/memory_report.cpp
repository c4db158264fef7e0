#include "muster/memory_report.hpp"

#include <nlohmann/json.hpp>

namespace muster {

std::string_view name(PoolKind kind) noexcept {
  switch (kind) {
    case PoolKind::small:
      return "small";
    case PoolKind::large:
      return "large";
    case PoolKind::exclusive:
      return "exclusive";
    case PoolKind::persistent:
      return "persistent";
  }
  return "unknown";
}

std::size_t MemoryReport::in_use_bytes() const noexcept {
  std::size_t sum = 0;
  if (scope == MemoryScope::device) {
    for (const PoolReport& pool : pools) sum += pool.in_use_bytes;
  } else {
    for (const StreamPoolReport& stream : streams) sum += stream.in_use_bytes;
  }
  return sum;
}

std::size_t MemoryReport::reserved_bytes() const noexcept {
  std::size_t sum = 0;
  for (const PoolReport& pool : pools) sum += pool.reserved_bytes;
  return scope == MemoryScope::device ? sum : in_use_bytes();
}

std::string MemoryReport::to_json(std::string_view label) const {
  nlohmann::ordered_json json{{"label", label},
                              {"device", to_string(device)},
                              {"in_use_bytes", in_use_bytes()},
                              {"reserved_bytes", reserved_bytes()}};
  for (const PoolReport& pool : pools) {
    json["pools"].push_back({{"pool", name(pool.kind)},
                             {"largest_slice_bytes", pool.largest_slice_bytes},
                             {"pages", pool.pages},
                             {"allocations", pool.allocations},
                             {"in_use_bytes", pool.in_use_bytes},
                             {"reserved_bytes", pool.reserved_bytes},
                             {"high_water_bytes", pool.high_water_bytes}});
  }
  json["pinned"] = {{"in_use_bytes", pinned.in_use_bytes},
                    {"reserved_bytes", pinned.reserved_bytes},
                    {"limit_bytes", pinned.limit_bytes}};
  for (const StreamPoolReport& stream : streams) {
    json["streams"].push_back({{"stream", stream.stream.value},
                               {"pool", name(stream.kind)},
                               {"allocations", stream.allocations},
                               {"in_use_bytes", stream.in_use_bytes},
                               {"high_water_bytes", stream.high_water_bytes}});
  }
  return json.dump();
}

}  // namespace muster
