#pragma once

// The body of Actor::submit_blocking, apart so that actor.hpp reads as the contract.

#include "actor/actor.hpp"
#include "muster/error.hpp"

namespace muster::detail {

/// Holds the executor token if it was free.
class Actor::Token {
 public:
  explicit Token(Actor& actor) : actor_(actor.take_token() ? &actor : nullptr) {}
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;
  ~Token() {
    if (actor_) actor_->release_token();
  }
  explicit operator bool() const noexcept { return actor_ != nullptr; }

 private:
  Actor* actor_;
};

template <class F>
void Actor::submit_blocking(F&& work) {
  require_outside();
  if (closed()) throw DeviceClosed(name_);
  if (!held_by_another()) {
    // The common case costs no thread switch: nobody runs the actor, so the caller does.
    const Token token(*this);
    if (token) {
      run_tasks();
      const Inside inside(*this, false);
      work();
      return;
    }
  }
  std::exception_ptr thrown;
  std::atomic<bool> done{false};
  submit(make_device_task([&](DeviceContext&) {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    done.store(true, std::memory_order_release);
  }));
  auto has_run = [&] { return done.load(std::memory_order_acquire); };
  wait_for_predicate(has_run, Deadline::never(), WhenClosed::keep_waiting);
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace muster::detail
