#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace muster {

/// Position of a process in the job: 0 <= value < world size.
struct RankId {
  int value = 0;
  friend constexpr auto operator<=>(RankId, RankId) = default;
};

/// What drives a device.
enum class Backend : std::uint8_t {
  host,  ///< a set of CPU cores and host memory
  cuda,  ///< a GPU; not part of this build
};

std::string_view name(Backend backend) noexcept;

/// Names one device of the whole job.
struct DeviceId {
  Backend backend = Backend::host;
  RankId rank{};
  int ordinal = 0;  ///< position among the devices of that rank
  friend constexpr auto operator<=>(const DeviceId&, const DeviceId&) = default;
};

/// `host:RANK.ORDINAL`
std::string to_string(const DeviceId& device);

/// Names one stream of a device. Work of one stream runs in order; work of two streams is ordered
/// only where they touch the same memory.
struct StreamId {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(StreamId, StreamId) = default;
  /// The stream of the calling thread. Given back for reuse when the thread ends.
  static StreamId of_this_thread();
};

/// How a device lays out the rows (the last dimension) of new tensors.
enum class LayoutPolicy : std::uint8_t {
  contiguous,  ///< no gaps
  optimized,   ///< rows are padded so that each begins on a multiple of at least 16 bytes
};

enum class PeerAccess : std::uint8_t {
  shared,
  isolated,  ///< transfers go through the host, as between backends
};

/// How a device is set up by the first Client::load. Later loads must not differ in the memory limit.
struct DeviceOptions {
  /// Bytes that the device may reserve; an allocation beyond it fails with OutOfMemory. 0: no limit of ours.
  std::size_t memory_limit_bytes = 0;
  /// How new tensors are laid out.
  LayoutPolicy layout = LayoutPolicy::contiguous;
  /// Threads that run a kernel's grid, the caller's included. 0: as many as set_kernel_threads says, else the cores that
  /// this process may use.
  int kernel_threads = 0;
  /// Whether other devices of this process and host may address its memory, and it theirs.
  PeerAccess peers = PeerAccess::shared;
};

}  // namespace muster

template <>
struct std::hash<muster::DeviceId> {
  std::size_t operator()(const muster::DeviceId& device) const noexcept {
    return std::hash<std::uint64_t>{}((static_cast<std::uint64_t>(device.rank.value) << 24U) ^
                                      (static_cast<std::uint64_t>(device.ordinal) << 4U) ^
                                      static_cast<std::uint64_t>(device.backend));
  }
};
