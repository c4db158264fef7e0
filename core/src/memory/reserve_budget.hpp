#pragma once

#include <fmt/format.h>

#include <cstddef>

#include "muster/error.hpp"

namespace muster::detail {

/// What the pools of a device may reserve together. Used by the actor only.
class ReserveBudget {
 public:
  /// 0: no limit.
  explicit ReserveBudget(std::size_t limit_bytes) : limit_(limit_bytes) {}

  [[nodiscard]] bool allows(std::size_t size_bytes) const noexcept {
    return limit_ == 0 || (size_bytes <= limit_ && reserved_ <= limit_ - size_bytes);
  }
  /// Throws OutOfMemory.
  void reserve(std::size_t size_bytes, std::size_t in_use_bytes) {
    if (!allows(size_bytes)) {
      throw OutOfMemory(
          fmt::format("{} bytes do not fit: {} of the device's limit of {} bytes are reserved, {} in use; free "
                      "buffers or raise DeviceOptions::memory_limit_bytes",
                      size_bytes, reserved_, limit_, in_use_bytes));
    }
    reserved_ += size_bytes;
  }
  void release(std::size_t size_bytes) noexcept { reserved_ -= size_bytes; }
  [[nodiscard]] std::size_t reserved() const noexcept { return reserved_; }

 private:
  std::size_t limit_, reserved_ = 0;
};

}  // namespace muster::detail
