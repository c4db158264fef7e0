#pragma once

#include <chrono>

namespace muster {

/// A point in time after which a wait gives up. Cheap to copy; passed by value.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline after(Clock::duration span) noexcept { return Deadline(Clock::now() + span); }
  static Deadline never() noexcept { return Deadline(Clock::time_point::max()); }

  [[nodiscard]] bool passed() const noexcept { return at_ != Clock::time_point::max() && Clock::now() >= at_; }
  [[nodiscard]] Clock::time_point at() const noexcept { return at_; }
  /// Time left, never negative.
  [[nodiscard]] Clock::duration left() const noexcept {
    if (at_ == Clock::time_point::max()) return Clock::duration::max();
    const auto now = Clock::now();
    return now >= at_ ? Clock::duration::zero() : at_ - now;
  }

 private:
  explicit Deadline(Clock::time_point at) noexcept : at_(at) {}
  Clock::time_point at_;
};

}  // namespace muster
