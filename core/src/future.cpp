#include "muster/future.hpp"

#include "actor/actor.hpp"

namespace muster::detail {

void FutureState::publish() {
  if (stage_.exchange(Stage::ready, std::memory_order_acq_rel) == Stage::awaited) actor_->resume_soon(continuation_);
  actor_->bell().ring();
}

void FutureState::fail(Failure failure) {
  failure_ = std::move(failure);
  publish();
}

void FutureState::wait(Deadline deadline) const {
  if (!ready() && !actor_->help_until([&] { return ready(); }, deadline)) {
    throw TimedOut("the result of device " + actor_->name() + " was not there at the deadline");
  }
  if (failure_) failure_->raise();
}

bool FutureState::resume_later(std::coroutine_handle<> handle) {
  continuation_ = handle;
  Stage expected = Stage::pending;
  return stage_.compare_exchange_strong(expected, Stage::awaited, std::memory_order_acq_rel);
}

}  // namespace muster::detail
