#pragma once

#include <atomic>
#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

#include "muster/deadline.hpp"
#include "muster/error.hpp"

namespace muster {

namespace detail {

class Actor;

/// Readiness and failure of a future; the value lives in the derived state.
class FutureState {
 public:
  explicit FutureState(std::shared_ptr<Actor> actor) : actor_(std::move(actor)) {}

  [[nodiscard]] bool ready() const noexcept { return stage_.load(std::memory_order_acquire) == Stage::ready; }
  void fail(Failure failure);
  /// Once ready: the failure, or null.
  [[nodiscard]] const Failure& failure() const noexcept { return failure_; }
  /// Helps the device until ready. Throws TimedOut, or the failure.
  void wait(Deadline deadline) const;
  /// Arranges for `handle` to be resumed once ready; false if it is ready already.
  bool resume_later(std::coroutine_handle<> handle);

 protected:
  ~FutureState() = default;
  void publish();

 private:
  enum class Stage : std::uint8_t { pending, awaited, ready };
  std::shared_ptr<Actor> actor_;
  std::atomic<Stage> stage_{Stage::pending};
  std::coroutine_handle<> continuation_;
  Failure failure_;
};

template <class T>
class ValueState final : public FutureState {
 public:
  using FutureState::FutureState;
  void set(T value) {
    value_.emplace(std::move(value));
    publish();
  }
  T take(Deadline deadline) {
    wait(deadline);
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

}  // namespace detail

/// The result of an asynchronous read. Taken once, by `get` or by `co_await`.
///
/// A coroutine that awaits it is resumed on a thread that drives the device: its background thread, or a thread that
/// waits for that device.
template <class T>
class [[nodiscard]] Future {
 public:
  explicit Future(std::shared_ptr<detail::ValueState<T>> state) : state_(std::move(state)) {}

  [[nodiscard]] bool ready() const noexcept { return state_->ready(); }
  /// Blocks; the calling thread does the device's work meanwhile. Throws the failure, or TimedOut.
  T get(Deadline deadline = Deadline::never()) { return state_->take(deadline); }

  [[nodiscard]] bool await_ready() const noexcept { return ready(); }
  bool await_suspend(std::coroutine_handle<> handle) { return state_->resume_later(handle); }
  T await_resume() { return state_->take(Deadline::never()); }

 private:
  std::shared_ptr<detail::ValueState<T>> state_;
};

}  // namespace muster
