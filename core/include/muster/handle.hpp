#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "muster/device.hpp"

namespace muster {

namespace detail {
class Allocation;
}

/// Backend and device that memory belongs to; stamped into every handle.
struct ServiceId {
  DeviceId device;
  friend constexpr bool operator==(const ServiceId&, const ServiceId&) = default;
};
std::string to_string(const ServiceId& service);

/// A reference to a device allocation, or to a slice of one. Copies share the memory; the last one dropped, and the
/// last enqueued work that uses it, frees it. Safe to copy and drop from any thread.
class Handle {
 public:
  Handle() = default;
  Handle(std::shared_ptr<detail::Allocation> allocation, std::size_t offset_bytes, std::size_t size_bytes);
  Handle(const Handle& other) noexcept;
  Handle(Handle&& other) noexcept;
  Handle& operator=(Handle other) noexcept;
  ~Handle();

  [[nodiscard]] bool valid() const noexcept { return allocation_ != nullptr; }
  /// Bytes that this handle covers.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Bytes from the start of the allocation.
  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }
  /// Throws UsageError if the handle is empty.
  [[nodiscard]] ServiceId service_id() const;
  /// Bytes [offset, offset + size) of this handle. Throws UsageError if they are not inside it.
  [[nodiscard]] Handle slice(std::size_t offset_bytes, std::size_t size_bytes) const;
  /// Whether this is the only handle of the program to the allocation, slices and lazy reads counted: what follows may then
  /// use the memory anew, since queued work keeps its order. Never true of a handle that for_work() made.
  [[nodiscard]] bool can_mut() const noexcept;
  /// A handle for work that is queued: it keeps the memory, but is not counted as one of the program. For integrators.
  [[nodiscard]] Handle for_work() const;

  /// Whether both refer to the same allocation and share at least one byte.
  [[nodiscard]] bool overlaps(const Handle& other) const noexcept;
  /// Whether both cover the very same bytes.
  [[nodiscard]] bool same_memory(const Handle& other) const noexcept;

  [[nodiscard]] const std::shared_ptr<detail::Allocation>& allocation() const noexcept { return allocation_; }

 private:
  std::shared_ptr<detail::Allocation> allocation_;
  std::size_t offset_ = 0, size_ = 0;
  bool held_ = false;  // counted as a handle of the program
};

}  // namespace muster
