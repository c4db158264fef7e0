#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <set>
#include <utility>

#include "memory/memory_pool.hpp"
#include "memory/page_space.hpp"

namespace muster::detail {

/// Slices pages into allocations: the tightest page that fits first, so that large free ranges stay whole. Pages grow
/// with the pool, so that few of them serve much memory.
class SlicedPool final : public MemoryPool {
 public:
  struct Shape {
    std::size_t largest_slice;
    std::size_t smallest_page, largest_page;
  };
  SlicedPool(PoolKind kind, Shape shape, PageSource& source) : MemoryPool(kind, source), shape_(shape) {}
  ~SlicedPool() override;

  void trim() override;

 private:
  struct Page {
    std::unique_ptr<DevicePage> memory;
    PageSpace space;
    std::list<Page>::iterator self;
  };
  PageRange do_take(std::size_t size_bytes) override;
  void do_give_back(const PageRange& range) override;
  [[nodiscard]] std::size_t page_count() const noexcept override { return pages_.size(); }
  [[nodiscard]] std::size_t largest_slice() const noexcept override { return shape_.largest_slice; }

  Page& add_page(std::size_t rounded);
  void drop(Page& page);
  PageRange take_from(Page& page, std::size_t rounded);

  Shape shape_;
  std::list<Page> pages_;
  std::set<std::pair<std::size_t, Page*>> by_largest_;  // largest free range of each page
  std::size_t free_pages_bytes_ = 0;                    // in pages without any allocation
};

}  // namespace muster::detail
