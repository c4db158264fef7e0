#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace muster::detail {

/// An algorithm that waits for peers, as a coroutine that anybody may drive: poll() goes on as far as it can without
/// blocking. `co_await until(condition)` waits; `co_await other` runs another Progress to its end first.
///
/// Dropping it in the middle destroys what it holds, in order: requests before the buffers that they fill.
class [[nodiscard]] Progress {
 public:
  struct promise_type {
    Progress get_return_object() { return Progress(std::coroutine_handle<promise_type>::from_promise(*this)); }
    static std::suspend_always initial_suspend() noexcept { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { error = std::current_exception(); }

    bool (*ready)(void*) = nullptr;  // what the coroutine waits for
    void* argument = nullptr;
    std::exception_ptr error;
  };

  Progress() = default;
  Progress(Progress&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Progress& operator=(Progress&& other) noexcept {
    Progress taken(std::move(other));
    std::swap(handle_, taken.handle_);
    return *this;
  }
  ~Progress() {
    if (handle_) handle_.destroy();
  }

  /// Goes on as far as possible; true when finished. Throws what the coroutine throws.
  bool poll() {
    if (!advance()) return false;
    rethrow();
    return true;
  }

  [[nodiscard]] bool valid() const noexcept { return handle_ != nullptr; }

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<promise_type> waiter) noexcept {
    waiter.promise().ready = [](void* self) { return static_cast<Progress*>(self)->advance(); };
    waiter.promise().argument = this;
  }
  void await_resume() { rethrow(); }

 private:
  explicit Progress(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}

  bool advance() {
    while (!handle_.done()) {
      auto& promise = handle_.promise();
      if (promise.ready && !promise.ready(promise.argument)) return false;
      promise.ready = nullptr;
      handle_.resume();
    }
    return true;
  }
  void rethrow() {
    if (handle_.promise().error) std::rethrow_exception(std::exchange(handle_.promise().error, nullptr));
  }

  std::coroutine_handle<promise_type> handle_ = nullptr;
};

/// Waits until `condition()` is true. It is called often, from one thread at a time, and must not block.
template <class Condition>
class Until {
 public:
  explicit Until(Condition condition) : condition_(std::move(condition)) {}
  [[nodiscard]] bool await_ready() { return condition_(); }
  void await_suspend(std::coroutine_handle<Progress::promise_type> waiter) noexcept {
    waiter.promise().ready = [](void* self) { return static_cast<bool>(static_cast<Until*>(self)->condition_()); };
    waiter.promise().argument = this;
  }
  void await_resume() noexcept {}

 private:
  Condition condition_;
};

template <class Condition>
Until<Condition> until(Condition condition) {
  return Until<Condition>(std::move(condition));
}

}  // namespace muster::detail
