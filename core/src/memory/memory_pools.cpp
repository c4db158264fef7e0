#include "memory/memory_pools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace muster::detail {

namespace {
constexpr std::size_t kibi = 1024, mebi = kibi * kibi;
// Small and large allocations live apart: a small one that lives long must not keep a large range from joining again.
constexpr SlicedPool::Shape small_shape{64 * kibi, 2 * mebi, 16 * mebi};
constexpr SlicedPool::Shape large_shape{16 * mebi, 4 * mebi, 128 * mebi};
constexpr std::size_t always_reserved = 64 * mebi;
}  // namespace

MemoryPools::MemoryPools(MakePage make_page, std::size_t limit_bytes)
    : source_{std::move(make_page), ReserveBudget(limit_bytes), 0, [this](std::size_t size) { make_room(size); }},
      small_(PoolKind::small, small_shape, source_),
      large_(PoolKind::large, large_shape, source_),
      exclusive_(PoolKind::exclusive, ExclusivePool::Sizes::classes, source_),
      persistent_(PoolKind::persistent, ExclusivePool::Sizes::exact, source_) {}

MemoryPool& MemoryPools::pool_for(const MemoryRequest& request) noexcept {
  if (request.mode == AllocationMode::persistent) return persistent_;
  if (request.size_bytes <= small_shape.largest_slice) return small_;
  if (request.size_bytes <= large_shape.largest_slice) return large_;
  return exclusive_;
}

PageRange MemoryPools::take_range(const MemoryRequest& request) {
  if (request.mode != AllocationMode::dedicated) return pool_for(request).take(request.size_bytes);
  auto page = source_.make_page(PageSpace::rounded(request.size_bytes));
  DevicePage* const raw = page.get();
  dedicated_.emplace(raw, std::move(page));
  return {raw, 0, raw->size(), nullptr, nullptr};
}

void MemoryPools::make_room(std::size_t size_bytes) {
  if (!may_grow_) {
    throw OutOfMemory(fmt::format(
        "a graph that is being recorded asks for {} bytes that are not reserved; call graph_prepare() before the "
        "warm-up run, and make the same allocations in it",
        size_bytes));
  }
  // Free pages are kept as long as they cost little of the memory that the program once needed anyway.
  if (reserved_bytes() + size_bytes > peak_in_use_ / 4 * 5 + always_reserved) trim_swept();
}

Grant MemoryPools::take_reserved(const MemoryRequest& request) {
  if (request.mode == AllocationMode::dedicated) {
    throw OutOfMemory("memory of the driver cannot be had while a graph is recorded; allocate before");
  }
  may_grow_ = false;
  try {
    const Grant grant = take_counted(request);
    may_grow_ = true;
    return grant;
  } catch (...) {
    may_grow_ = true;
    throw;
  }
}

Grant MemoryPools::take(const MemoryRequest& request) {
  try {
    return take_counted(request);
  } catch (const OutOfMemory&) {
    const std::size_t before = reserved_bytes();
    trim_swept();
    if (reserved_bytes() == before) throw;
    return take_counted(request);
  }
}

Grant MemoryPools::take_counted(const MemoryRequest& request) {
  if (request.size_bytes > std::numeric_limits<std::size_t>::max() / 2) {
    throw OutOfMemory(fmt::format("{} bytes is more than an address space holds", request.size_bytes));
  }
  Grant grant{{}, request.stream};
  if (request.mode != AllocationMode::dedicated) peak_in_use_ = std::max(peak_in_use_, in_use_ + request.size_bytes);
  grant.range = take_range(request);
  if (grant.range.pool) {
    Use& use = uses_[{grant.stream, grant.range.pool->kind()}];
    ++use.allocations;
    in_use_ += grant.range.size;
    use.in_use += grant.range.size;
    use.high_water = std::max(use.high_water, use.in_use);
  }
  return grant;
}

void MemoryPools::give_back(const Grant& grant) {
  if (!grant.range.pool) {
    dedicated_.erase(grant.range.page);
    return;
  }
  Use& use = uses_[{grant.stream, grant.range.pool->kind()}];
  --use.allocations;
  in_use_ -= grant.range.size;
  use.in_use -= grant.range.size;
  grant.range.pool->give_back(grant.range);
}

void MemoryPools::trim_swept() {
  if (source_.recordings != 0) return;
  small_.trim();
  large_.trim();
  exclusive_.trim();
}

void MemoryPools::trim() {
  trim_swept();
  persistent_.trim();
}

std::size_t MemoryPools::reserved_bytes() const noexcept { return source_.budget.reserved(); }

std::size_t MemoryPools::in_use_bytes() const noexcept { return in_use_; }

MemoryReport MemoryPools::report(DeviceId device) const {
  MemoryReport report{device, MemoryScope::device, {}, {}, {}};
  for (const MemoryPool* pool : pools()) report.pools.push_back(pool->report());
  for (const auto& [key, use] : uses_) {
    report.streams.push_back({key.first, key.second, use.allocations, use.in_use, use.high_water});
  }
  return report;
}

MemoryReport MemoryPools::report(DeviceId device, StreamId stream) const {
  MemoryReport report{device, MemoryScope::current_stream, {}, {}, {}};
  for (const auto& [key, use] : uses_) {
    if (key.first == stream) report.streams.push_back({stream, key.second, use.allocations, use.in_use, use.high_water});
  }
  return report;
}

}  // namespace muster::detail
