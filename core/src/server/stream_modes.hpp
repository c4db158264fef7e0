#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "muster/device.hpp"
#include "muster/kernel.hpp"
#include "muster/memory_report.hpp"

namespace muster::detail {

/// Modes that hold for what is issued to a stream while they are set. Thread safe; one load where none is set.
class StreamModes {
 public:
  struct Modes {
    AllocationMode allocation = AllocationMode::pooled;
    LaunchMode launch = LaunchMode::run;
    bool capturing = false;
    friend bool operator==(const Modes&, const Modes&) = default;
  };

  [[nodiscard]] Modes of(StreamId stream) const {
    if (count_.load(std::memory_order_acquire) == 0) return {};
    const std::lock_guard lock(mutex_);
    const auto found = modes_.find(stream.value);
    return found == modes_.end() ? Modes{} : found->second;
  }
  AllocationMode set(StreamId stream, AllocationMode mode) { return replace(stream, &Modes::allocation, mode); }
  LaunchMode set(StreamId stream, LaunchMode mode) { return replace(stream, &Modes::launch, mode); }
  void set_capturing(StreamId stream, bool capturing) { replace(stream, &Modes::capturing, capturing); }
  [[nodiscard]] bool any_capturing() const {
    if (count_.load(std::memory_order_acquire) == 0) return false;
    const std::lock_guard lock(mutex_);
    return std::any_of(modes_.begin(), modes_.end(), [](const auto& each) { return each.second.capturing; });
  }

 private:
  template <class Mode>
  Mode replace(StreamId stream, Mode Modes::*which, Mode mode) {
    const std::lock_guard lock(mutex_);
    Modes& modes = modes_[stream.value];
    const Mode before = std::exchange(modes.*which, mode);
    if (modes == Modes{}) modes_.erase(stream.value);
    count_.store(modes_.size(), std::memory_order_release);
    return before;
  }

  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Modes> modes_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace muster::detail
