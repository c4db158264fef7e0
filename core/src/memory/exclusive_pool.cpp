#include "memory/exclusive_pool.hpp"

#include <algorithm>
#include <bit>

#include "memory/page_space.hpp"

namespace muster::detail {

namespace {
constexpr std::size_t page_granularity = std::size_t{64} << 10U;
constexpr std::size_t steps_per_doubling = 8;
constexpr std::size_t kept_free_share = 8;
constexpr std::size_t always_kept = std::size_t{64} << 20U;
}  // namespace

ExclusivePool::~ExclusivePool() {
  trim();
  for (auto& [raw, page] : taken_) drop_page(std::move(page));
}

std::size_t ExclusivePool::size_class(std::size_t size_bytes) noexcept {
  const std::size_t step = std::max(std::bit_floor(size_bytes) / steps_per_doubling, page_granularity);
  return (size_bytes + step - 1) / step * step;
}

PageRange ExclusivePool::do_take(std::size_t size_bytes) {
  const std::size_t size = sizes_ == Sizes::classes ? size_class(size_bytes) : PageSpace::rounded(size_bytes);
  // A page one or two classes above is better than a new one: to map and clear memory takes longer than to use it.
  const std::size_t largest = sizes_ == Sizes::classes ? size + size / 4 : size;
  const auto found = free_.lower_bound(size);
  std::unique_ptr<DevicePage> page;
  if (found != free_.end() && found->first <= largest) {
    page = std::move(found->second);
    free_bytes_ -= page->size();
    free_.erase(found);
  } else {
    page = new_page(size);
  }
  DevicePage* const raw = page.get();
  taken_.emplace(raw, std::move(page));
  return {raw, 0, raw->size(), this, nullptr};
}

void ExclusivePool::do_give_back(const PageRange& range) {
  auto taken = taken_.extract(range.page);
  free_bytes_ += range.page->size();
  free_.emplace(range.page->size(), std::move(taken.mapped()));
  if (sizes_ == Sizes::exact || keeps_free_pages()) return;
  while (free_bytes_ > always_kept && free_bytes_ > reserved_bytes() / kept_free_share) {
    const auto largest = std::prev(free_.end());
    free_bytes_ -= largest->first;
    drop_page(std::move(largest->second));
    free_.erase(largest);
  }
}

void ExclusivePool::trim() {
  for (auto& [size, page] : free_) drop_page(std::move(page));
  free_.clear();
  free_bytes_ = 0;
}

}  // namespace muster::detail
