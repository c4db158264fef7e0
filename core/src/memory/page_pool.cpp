#include "memory/page_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "muster/error.hpp"

namespace muster::detail {

namespace {
constexpr std::size_t smallest_page = std::size_t{2} << 20U;
constexpr std::size_t largest_shared_page = std::size_t{64} << 20U;
constexpr std::size_t page_granularity = std::size_t{64} << 10U;
constexpr std::size_t kept_free_share = 4;  // free pages beyond a quarter of the pool go back to the system

std::size_t round_up(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }
}  // namespace

PagePool::PagePool(MakePage make_page, std::size_t limit_bytes) : make_page_(std::move(make_page)), limit_(limit_bytes) {}

PageRange PagePool::take_from_pages(std::size_t rounded) {
  // The tightest page first: large free pages stay whole for large requests.
  Slot* best = nullptr;
  for (Slot& slot : pages_) {
    const std::size_t largest = slot.space.largest();
    if (largest >= rounded && (!best || largest < best->space.largest())) best = &slot;
  }
  if (!best) return {};
  used_ += rounded;
  return {best->page.get(), *best->space.take(rounded), rounded};
}

PagePool::Slot& PagePool::add_page(std::size_t rounded) {
  std::size_t size = std::clamp(round_up(reserved_ / 4, page_granularity), smallest_page, largest_shared_page);
  if (rounded > size / 2) size = round_up(rounded, page_granularity);
  if (limit_ != 0 && reserved_ + size > limit_) size = round_up(rounded, page_granularity);
  if (limit_ != 0 && reserved_ + size > limit_) {
    throw OutOfMemory(
        fmt::format("{} bytes do not fit: {} of the device's limit of {} bytes are reserved, {} in use; free "
                    "buffers or raise DeviceOptions::memory_limit_bytes",
                    rounded, reserved_, limit_, used_));
  }
  auto page = make_page_(size);
  reserved_ += size;
  return pages_.emplace_back(Slot{std::move(page), PageSpace(size)});
}

PageRange PagePool::take(std::size_t size_bytes) {
  if (size_bytes > std::numeric_limits<std::size_t>::max() / 2) {
    throw OutOfMemory(fmt::format("{} bytes is more than an address space holds", size_bytes));
  }
  const std::size_t rounded = PageSpace::rounded(size_bytes);
  if (const PageRange range = take_from_pages(rounded); range.page) return range;
  try {
    add_page(rounded);
  } catch (const OutOfMemory&) {
    const std::size_t before = reserved_;
    trim();
    if (reserved_ == before) throw;
    add_page(rounded);
  }
  return take_from_pages(rounded);
}

void PagePool::give_back(const PageRange& range) {
  used_ -= range.size;
  const auto slot =
      std::find_if(pages_.begin(), pages_.end(), [&](const Slot& each) { return each.page.get() == range.page; });
  slot->space.give_back(range.offset, range.size);
  if (!slot->space.all_free()) return;
  // Hysteresis: a program that frees and takes the same buffer in turns must not map it anew each time.
  std::size_t free_bytes = 0;
  for (const Slot& each : pages_) free_bytes += each.space.all_free() ? each.page->size() : 0;
  if (free_bytes > largest_shared_page * 4 && free_bytes > reserved_ / kept_free_share && pages_.size() > 1) {
    reserved_ -= slot->page->size();
    pages_.erase(slot);
  }
}

void PagePool::trim() {
  std::erase_if(pages_, [&](const Slot& slot) {
    if (!slot.space.all_free()) return false;
    reserved_ -= slot.page->size();
    return true;
  });
}

}  // namespace muster::detail
