#include "group/collective_call.hpp"

#include "schedule/shard.hpp"
#include "transport/host/group_page.hpp"

namespace muster::detail {

namespace {
constexpr std::size_t small_total_on_one_host = std::size_t{64} << 10U;   // all members read all of it
constexpr std::size_t small_total_across_hosts = std::size_t{64} << 10U;  // all hosts carry all of it
}  // namespace

Traffic traffic_of(const Fingerprint& fingerprint, std::size_t members) noexcept {
  const std::size_t block = fingerprint.bytes;
  switch (fingerprint.operation) {
    case Operation::all_reduce:
    case Operation::reduce:
    case Operation::all_gather:
    case Operation::gather:
      return {block, block * members};
    case Operation::reduce_scatter:
    case Operation::all_to_all:
      return {block * members, block * members * members};
    case Operation::broadcast:
      return {block, block};
    case Operation::scatter:
      return {block * members, block * members};
    case Operation::barrier:
      return {};
  }
  return {};
}

bool is_small(const Fingerprint& fingerprint, const GroupShape& shape) noexcept {
  const std::size_t members = shape.members.size();
  if (fingerprint.bytes > Slot::payload_bytes) return false;  // before anything can overflow
  const Traffic traffic = traffic_of(fingerprint, members);
  return traffic.payload <= Slot::payload_bytes &&
         traffic.total <= (shape.one_host() ? small_total_on_one_host : small_total_across_hosts);
}

std::size_t payload_of(const CollectiveCall& call, std::size_t members, int index) noexcept {
  const bool from_root_only = call.operation() == Operation::broadcast || call.operation() == Operation::scatter;
  if (from_root_only && index != call.root()) return 0;
  return traffic_of(call.fingerprint, members).payload;
}

std::size_t scratch_bytes(const CollectiveCall& call, const GroupShape& shape, int index) noexcept {
  if (is_small(call.fingerprint, shape) || call.block() == 0) return 0;
  const std::size_t local = shape.hosts[shape.members[index].host].size();
  // A shard is rounded up to a cache line at both ends.
  constexpr std::size_t rounding = 256;
  switch (call.operation()) {
    case Operation::reduce:
      return call.block() / (shape.one_host() ? local : shape.lanes) + rounding;
    case Operation::reduce_scatter:
      return shape.one_host() ? 0 : (call.block() / shape.lanes + rounding) * local;
    case Operation::all_to_all:
      return call.source.same_memory(call.destination) ? call.source.size() : 0;
    case Operation::all_reduce:
    case Operation::all_gather:
    case Operation::broadcast:
    case Operation::gather:
    case Operation::scatter:
    case Operation::barrier:
      return 0;
  }
  return 0;
}

}  // namespace muster::detail
