#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace muster::detail {

/// A stack for a thread of a block, with a guard page below it. Kept by the OS thread that used it.
class FiberStack {
 public:
  /// Throws std::bad_alloc.
  static FiberStack take();
  FiberStack(FiberStack&& other) noexcept;
  FiberStack& operator=(FiberStack&&) = delete;
  ~FiberStack();

  [[nodiscard]] void* top() const noexcept { return base_ + size; }
  [[nodiscard]] const void* bottom() const noexcept { return base_; }
  /// Usable bytes.
  static constexpr std::size_t size = std::size_t{128} << 10U;

 private:
  explicit FiberStack(std::byte* base) : base_(base) {}
  std::byte* base_;
};

}  // namespace muster::detail
