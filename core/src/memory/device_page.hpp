#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::detail {

/// A piece of device memory as the driver hands it out. Its id is never used again in this process.
class DevicePage {
 public:
  virtual ~DevicePage() = default;
  [[nodiscard]] virtual std::byte* data() const noexcept = 0;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t id() const noexcept = 0;
};

}  // namespace muster::detail
