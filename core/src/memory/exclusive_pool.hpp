#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <unordered_map>

#include "memory/memory_pool.hpp"

namespace muster::detail {

/// A page for each allocation, used again for requests that fit it well.
class ExclusivePool final : public MemoryPool {
 public:
  enum class Sizes : std::uint8_t {
    classes,  ///< eight steps for each power of two; free pages beyond a share go back to the driver
    exact,    ///< as asked for; pages stay until trim()
  };
  ExclusivePool(PoolKind kind, Sizes sizes, PageSource& source) : MemoryPool(kind, source), sizes_(sizes) {}
  ~ExclusivePool() override;

  void trim() override;
  /// The size of the page for a request.
  [[nodiscard]] static std::size_t size_class(std::size_t size_bytes) noexcept;

 private:
  PageRange do_take(std::size_t size_bytes) override;
  void do_give_back(const PageRange& range) override;
  [[nodiscard]] std::size_t page_count() const noexcept override { return taken_.size() + free_.size(); }

  Sizes sizes_;
  std::unordered_map<DevicePage*, std::unique_ptr<DevicePage>> taken_;
  std::multimap<std::size_t, std::unique_ptr<DevicePage>> free_;  // by size
  std::size_t free_bytes_ = 0;
};

}  // namespace muster::detail
