#include "memory/sliced_pool.hpp"

#include <algorithm>

namespace muster::detail {

namespace {
constexpr std::size_t page_granularity = std::size_t{64} << 10U;
constexpr std::size_t growth_share = 4;     // a new page is this part of the pool
constexpr std::size_t kept_free_share = 8;  // free pages beyond this part of the pool go back to the driver

std::size_t round_up(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }
}  // namespace

SlicedPool::~SlicedPool() {
  for (Page& page : pages_) drop_page(std::move(page.memory));
}

SlicedPool::Page& SlicedPool::add_page(std::size_t rounded) {
  const std::size_t exact = round_up(rounded, page_granularity);
  std::size_t size =
      std::clamp(round_up(reserved_bytes() / growth_share, page_granularity), shape_.smallest_page, shape_.largest_page);
  // Where the limit leaves no room for a page of the usual size, one of half the size may do.
  while (size > exact && !budget_allows(size)) size = round_up(size / 2, page_granularity);
  size = std::max(size, exact);
  auto memory = new_page(size);
  Page& page = pages_.emplace_back(Page{std::move(memory), PageSpace(size), {}});
  page.self = std::prev(pages_.end());
  by_largest_.emplace(size, &page);
  free_pages_bytes_ += size;
  return page;
}

PageRange SlicedPool::take_from(Page& page, std::size_t rounded) {
  if (page.space.all_free()) free_pages_bytes_ -= page.memory->size();
  by_largest_.erase({page.space.largest(), &page});
  const std::size_t offset = *page.space.take(rounded);
  by_largest_.emplace(page.space.largest(), &page);
  return {page.memory.get(), offset, rounded, this, &page};
}

PageRange SlicedPool::do_take(std::size_t size_bytes) {
  const std::size_t rounded = PageSpace::rounded(size_bytes);
  const auto tightest = by_largest_.lower_bound({rounded, nullptr});
  return take_from(tightest != by_largest_.end() ? *tightest->second : add_page(rounded), rounded);
}

void SlicedPool::do_give_back(const PageRange& range) {
  Page& page = *static_cast<Page*>(range.place);
  by_largest_.erase({page.space.largest(), &page});
  page.space.give_back(range.offset, range.size);
  by_largest_.emplace(page.space.largest(), &page);
  if (!page.space.all_free()) return;
  free_pages_bytes_ += page.memory->size();
  if (keeps_free_pages()) return;
  // Hysteresis: a program that frees and takes the same buffer in turns must not map it anew each time.
  if (free_pages_bytes_ > shape_.largest_page && free_pages_bytes_ > reserved_bytes() / kept_free_share) drop(page);
}

void SlicedPool::drop(Page& page) {
  free_pages_bytes_ -= page.memory->size();
  by_largest_.erase({page.space.largest(), &page});
  drop_page(std::move(page.memory));
  pages_.erase(page.self);
}

void SlicedPool::trim() {
  for (auto page = pages_.begin(); page != pages_.end();) {
    Page& each = *page++;
    if (each.space.all_free()) drop(each);
  }
}

}  // namespace muster::detail
