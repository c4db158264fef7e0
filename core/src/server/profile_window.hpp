#pragma once

#include <chrono>
#include <optional>

#include "muster/device_work.hpp"
#include "muster/future.hpp"
#include "muster/profile.hpp"

namespace muster::detail {

/// A stretch of one stream that is timed: from the start of the first work in it to the end of the last. Used by the thread
/// that runs the stream; the result is read once the end was reached.
class ProfileWindow {
 public:
  using Clock = std::chrono::steady_clock;
  ProfileWindow(StreamId stream, std::shared_ptr<Actor> actor)
      : stream_(stream), result_(std::make_shared<ValueState<std::optional<std::chrono::nanoseconds>>>(std::move(actor))) {}

  void note(Clock::time_point begin, Clock::time_point end) noexcept {
    if (!any_) first_ = begin;
    any_ = true;
    last_ = end;
  }
  void finish() { result_->set(any_ ? std::optional(std::chrono::nanoseconds(last_ - first_)) : std::nullopt); }
  void fail(const Failure& failure) { result_->fail(failure); }

  [[nodiscard]] StreamId stream() const noexcept { return stream_; }
  [[nodiscard]] const std::shared_ptr<ValueState<std::optional<std::chrono::nanoseconds>>>& result() const noexcept {
    return result_;
  }
  /// True for the first caller: a window is ended once.
  [[nodiscard]] bool close() noexcept { return !closed_.exchange(true); }

 private:
  StreamId stream_;
  bool any_ = false;
  Clock::time_point first_, last_;
  std::atomic<bool> closed_{false};
  std::shared_ptr<ValueState<std::optional<std::chrono::nanoseconds>>> result_;
};

enum class WindowEdge : std::uint8_t {
  begin,
  end,
  abandon,  ///< no result is wanted
};

}  // namespace muster::detail
