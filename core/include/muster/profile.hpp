#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/device.hpp"
#include "muster/kernel.hpp"

namespace muster {

namespace detail {
class ProfileWindow;
}

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

/// A stretch of a stream that is being timed. Cheap to copy.
class ProfileToken {
 public:
  explicit ProfileToken(std::shared_ptr<detail::ProfileWindow> window) : window_(std::move(window)) {}
  [[nodiscard]] const std::shared_ptr<detail::ProfileWindow>& window() const noexcept { return window_; }

 private:
  std::shared_ptr<detail::ProfileWindow> window_;
};

/// How long the work of a window took on the device; nothing where there was none to measure.
using ProfileDuration = std::optional<std::chrono::nanoseconds>;

/// What a function gave, and how long its work took.
template <class T>
struct Profiled {
  T value;
  ProfileDuration duration;
};

}  // namespace muster
