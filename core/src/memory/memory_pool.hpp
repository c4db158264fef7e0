#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>

#include "memory/device_page.hpp"
#include "memory/reserve_budget.hpp"
#include "muster/memory_report.hpp"

namespace muster::detail {

class MemoryPool;

/// A range of a page, as a pool gives it out. The page stays while the range is taken.
struct PageRange {
  DevicePage* page = nullptr;
  std::size_t offset = 0;
  std::size_t size = 0;  ///< what was taken: the size asked for, rounded up
  MemoryPool* pool = nullptr;
  void* place = nullptr;  ///< for the pool
  [[nodiscard]] std::byte* data() const noexcept { return page->data() + offset; }
};

/// Where pages come from, shared by the pools of a device.
struct PageSource {
  std::function<std::unique_ptr<DevicePage>(std::size_t)> make_page;
  ReserveBudget budget;
  int recordings = 0;  ///< graphs being recorded: free pages stay, since none may be asked for
  /// Called before a pool asks for a page: the place to return what others do not use.
  std::function<void(std::size_t)> before_page = [](std::size_t) {};
};

/// One way to turn pages into ranges. Not thread safe: used by the actor only.
class MemoryPool {
 public:
  MemoryPool(PoolKind kind, PageSource& source) : kind_(kind), source_(source) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  virtual ~MemoryPool() = default;

  /// Throws OutOfMemory.
  PageRange take(std::size_t size_bytes) {
    PageRange range = do_take(size_bytes);
    range.pool = this;
    in_use_ += range.size;
    ++allocations_;
    high_water_ = std::max(high_water_, in_use_);
    return range;
  }
  void give_back(const PageRange& range) {
    in_use_ -= range.size;
    --allocations_;
    do_give_back(range);
  }
  /// Returns to the driver the pages that nothing uses.
  virtual void trim() = 0;

  [[nodiscard]] PoolKind kind() const noexcept { return kind_; }
  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return reserved_; }
  [[nodiscard]] std::size_t in_use_bytes() const noexcept { return in_use_; }
  [[nodiscard]] PoolReport report() const {
    return {kind_, largest_slice(), page_count(), allocations_, in_use_, reserved_, high_water_};
  }

 protected:
  virtual PageRange do_take(std::size_t size_bytes) = 0;
  virtual void do_give_back(const PageRange& range) = 0;
  [[nodiscard]] virtual std::size_t page_count() const noexcept = 0;
  /// The largest request that this pool is made for; 0: any.
  [[nodiscard]] virtual std::size_t largest_slice() const noexcept { return 0; }

  std::unique_ptr<DevicePage> new_page(std::size_t size_bytes) {
    source_.before_page(size_bytes);
    source_.budget.reserve(size_bytes, in_use_);
    try {
      auto page = source_.make_page(size_bytes);
      reserved_ += size_bytes;
      return page;
    } catch (...) {
      source_.budget.release(size_bytes);
      throw;
    }
  }
  void drop_page(std::unique_ptr<DevicePage> page) noexcept {
    source_.budget.release(page->size());
    reserved_ -= page->size();
  }
  [[nodiscard]] bool keeps_free_pages() const noexcept { return source_.recordings != 0; }
  [[nodiscard]] bool budget_allows(std::size_t size_bytes) const noexcept { return source_.budget.allows(size_bytes); }

 private:
  PoolKind kind_;
  PageSource& source_;
  std::size_t in_use_ = 0, reserved_ = 0, high_water_ = 0, allocations_ = 0;
};

}  // namespace muster::detail
