#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "muster/profile.hpp"

namespace muster::detail {

/// Who wants to know of the launches of a device: the log, by level, and observers. Thread safe.
class LaunchMonitor {
 public:
  void set_level(ProfilingLevel level) noexcept;
  void add(std::weak_ptr<LaunchObserver> observer);
  /// One load, where nobody wants to know.
  [[nodiscard]] bool active() const noexcept { return active_.load(std::memory_order_acquire); }
  [[nodiscard]] bool wants_timing(const KernelId& kernel) const;
  void launched(const LaunchRecord& record);

 private:
  std::vector<std::shared_ptr<LaunchObserver>> observers() const;
  void update() noexcept;

  mutable std::mutex mutex_;
  ProfilingLevel level_ = ProfilingLevel::off;
  std::vector<std::weak_ptr<LaunchObserver>> observers_;
  std::atomic<bool> active_{false};
};

/// A launch that somebody wants to know of. The driver tells when it has run.
struct LaunchReport {
  LaunchMonitor& monitor;  // of the device, which outlives its work
  LaunchRecord record;
  bool timed = false;
};

}  // namespace muster::detail
