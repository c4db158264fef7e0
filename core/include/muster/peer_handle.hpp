#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "muster/handle.hpp"

namespace muster {

namespace detail {
class SharedMemory;
}

/// Memory of a device that its peers may load from, store to, and run atomics on. The memory stays where it is while any
/// copy lives, in the owner's process. Cheap to copy.
class PeerHandle {
 public:
  PeerHandle() = default;
  explicit PeerHandle(std::shared_ptr<const detail::SharedMemory> memory) : memory_(std::move(memory)) {}

  [[nodiscard]] bool valid() const noexcept { return memory_ != nullptr; }
  /// The device that owns the memory. Throws UsageError if the handle is empty.
  [[nodiscard]] ServiceId service_id() const;
  /// Bytes.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] const std::shared_ptr<const detail::SharedMemory>& memory() const noexcept { return memory_; }

 private:
  std::shared_ptr<const detail::SharedMemory> memory_;
};

}  // namespace muster
