#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "muster/device.hpp"
#include "muster/kernel.hpp"

namespace muster {

/// What is logged of each launch of a device.
enum class ProfilingLevel : std::uint8_t {
  off,
  executions,  ///< its name
  basic,       ///< and how long it ran
  medium,      ///< and its count
  full,        ///< and the sizes of its arguments
};

/// One launch that ran.
struct LaunchRecord {
  KernelId kernel;
  DeviceId device;
  StreamId stream;
  Dim3 count;
  std::vector<std::size_t> buffer_bytes;             ///< of each buffer argument, in order
  std::optional<std::chrono::nanoseconds> duration;  ///< nothing where no time was asked for, or none could be taken
};

/// Told of launches. Called on whatever thread drives the device, one at a time per stream; must not block.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  /// Whether the duration of launches of this kernel is wanted.
  virtual bool wants_timing(const KernelId& kernel) = 0;
  /// The launch has run, or failed.
  virtual void launched(const LaunchRecord& record) = 0;
};

}  // namespace muster
