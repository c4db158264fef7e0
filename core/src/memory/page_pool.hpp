#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "memory/mapped_page.hpp"
#include "memory/page_space.hpp"

namespace muster::detail {

/// A range of a page. The page stays while the pool lives and the range is taken.
struct PageRange {
  MappedPage* page = nullptr;
  std::size_t offset = 0;
  std::size_t size = 0;
  [[nodiscard]] std::byte* data() const noexcept { return page->data() + offset; }
};

/// Slices pages into allocations. Pages grow with the pool, so that few descriptors serve much memory; a request that
/// would fill most of a page gets one of its own. Not thread safe: used by the actor only.
class PagePool {
 public:
  using MakePage = std::function<std::unique_ptr<MappedPage>(std::size_t)>;
  /// `limit_bytes` bounds what is reserved; 0 is no limit.
  PagePool(MakePage make_page, std::size_t limit_bytes);

  /// Throws OutOfMemory, after having given back free pages.
  PageRange take(std::size_t size_bytes);
  void give_back(const PageRange& range);
  /// Returns pages that nothing uses to the system.
  void trim();

  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return reserved_; }
  [[nodiscard]] std::size_t used_bytes() const noexcept { return used_; }
  [[nodiscard]] std::size_t page_count() const noexcept { return pages_.size(); }

 private:
  struct Slot {
    std::unique_ptr<MappedPage> page;
    PageSpace space;
  };
  PageRange take_from_pages(std::size_t rounded);
  Slot& add_page(std::size_t rounded);

  MakePage make_page_;
  std::size_t limit_;
  std::vector<Slot> pages_;
  std::size_t reserved_ = 0, used_ = 0;
};

}  // namespace muster::detail
