#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "muster/device.hpp"

namespace muster {

/// How a device turns pages of its driver into allocations.
enum class PoolKind : std::uint8_t {
  small,       ///< slices of small pages
  large,       ///< slices of pages that grow with the pool
  exclusive,   ///< a page for each allocation, of a size class, used again
  persistent,  ///< a page of the exact size for each allocation, never swept
};
std::string_view name(PoolKind kind) noexcept;

/// One pool of a device. All sizes in bytes.
struct PoolReport {
  PoolKind kind{};
  std::size_t largest_slice_bytes = 0;  ///< larger requests go to the next pool; 0: any size
  std::size_t pages = 0;
  std::size_t allocations = 0;
  std::size_t in_use_bytes = 0;      ///< taken by allocations, rounding included
  std::size_t reserved_bytes = 0;    ///< held from the driver
  std::size_t high_water_bytes = 0;  ///< the most that was in use
};

/// What the allocations made by one stream hold of one pool. Pools belong to the device: memory goes from one stream to
/// another as soon as all work that used it is done.
struct StreamPoolReport {
  StreamId stream;
  PoolKind kind{};
  std::size_t allocations = 0;
  std::size_t in_use_bytes = 0;
  std::size_t high_water_bytes = 0;
};

enum class MemoryScope : std::uint8_t { device, current_stream };

/// Locked host memory that Client::staging uses, of the whole process. Sizes in bytes.
struct PinnedMemory {
  std::size_t in_use_bytes = 0;    ///< behind bytes that were moved and live
  std::size_t reserved_bytes = 0;  ///< locked
  std::size_t limit_bytes = 0;     ///< MUSTER_PINNED_LIMIT, else half of what the system lets the process lock
};

/// The memory of a device at one point of its order. Dedicated allocations are not part of it.
struct MemoryReport {
  DeviceId device;
  MemoryScope scope = MemoryScope::device;
  std::vector<PoolReport> pools;          ///< all pools of the device; empty where the scope is one stream
  std::vector<StreamPoolReport> streams;  ///< the streams of the scope that ever allocated
  PinnedMemory pinned;

  /// Sums over what the scope covers.
  [[nodiscard]] std::size_t in_use_bytes() const noexcept;
  [[nodiscard]] std::size_t reserved_bytes() const noexcept;
  /// One line of JSON, without the end of line.
  [[nodiscard]] std::string to_json(std::string_view label) const;
};

/// Where allocations go.
enum class AllocationMode : std::uint8_t {
  pooled,      ///< by size, with pages used again
  persistent,  ///< exact, never swept: weights, and what graphs refer to
  dedicated,   ///< from the driver and back to it, outside pools and their statistics
};

}  // namespace muster
