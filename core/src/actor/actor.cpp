#include "actor/actor.hpp"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "actor/backoff.hpp"
#include "muster/error.hpp"

namespace muster::detail {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t mailbox_threshold = 512;  // tasks; more make the background thread take over
constexpr auto background_tick = 500us;         // the 'short delay' after which it looks by itself
constexpr int idle_ticks_before_deep_sleep = 20;
constexpr auto longest_sleep = 100ms;  // a waiter looks at its deadline at least this often

thread_local Actor* inside_actor = nullptr;

}  // namespace

/// Counts the calling thread as one that looks after the streams.
class Actor::Watch {
 public:
  explicit Watch(Actor& actor) noexcept : actor_(actor) { actor_.watchers_.fetch_add(1, std::memory_order_seq_cst); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    actor_.watchers_.fetch_sub(1, std::memory_order_seq_cst);
    actor_.wake_background_if_deep();
  }

 private:
  Actor& actor_;
};

Actor::Inside::Inside(Actor& actor, bool computes) noexcept
    : actor_(actor), outer_(std::exchange(inside_actor, &actor)), watched_(computes) {
  if (watched_) {
    actor_.watchers_.fetch_sub(1, std::memory_order_seq_cst);
    actor_.wake_background();
  }
}

Actor::Inside::~Inside() {
  if (watched_) actor_.watchers_.fetch_add(1, std::memory_order_seq_cst);
  inside_actor = outer_;
}

Actor::Actor(std::string name, Doorbell& bell, SideWork& side_work, DeviceContext& device)
    : name_(std::move(name)), bell_(bell), side_work_(side_work), device_(device), thread_([this] { background(); }) {}

Actor::~Actor() { close(); }

void Actor::require_parent() const {
  if (in_forked_child()) {
    throw DeviceClosed(name_,
                       "this process was forked after it was started, and has none of its threads; fork before, or exec");
  }
}

void Actor::require_outside() const {
  require_parent();
  if (inside_actor == this) {
    throw UsageError("a kernel or task of device " + name_ + " may not wait for its own device; enqueue the work instead");
  }
}

bool Actor::hold_back(std::unique_ptr<Task>& task) {
  const std::lock_guard lock(held_back_mutex_);
  if (!held_by_another() || closed()) return false;
  held_back_.push_back(std::move(task));
  return true;
}

bool Actor::hold(Deadline deadline) {
  require_outside();
  const auto me = std::this_thread::get_id();
  if (holder_.load(std::memory_order_acquire) == me) {
    ++holds_;
    return true;
  }
  const auto taken = [&] {
    std::thread::id nobody{};
    const std::lock_guard lock(held_back_mutex_);
    return holder_.compare_exchange_strong(nobody, me, std::memory_order_acq_rel);
  };
  if (!help_until(taken, deadline)) return false;
  holds_ = 1;
  return true;
}

void Actor::release() noexcept {
  if (--holds_ != 0) return;
  {
    const std::lock_guard lock(held_back_mutex_);
    for (auto& task : held_back_) mailbox_.push(std::move(task));
    held_back_.clear();
    holder_.store(std::thread::id{}, std::memory_order_release);
  }
  bell_.ring();
  flush();
}

void Actor::submit(std::unique_ptr<Task> task) {
  require_parent();
  if (held_by_another() && hold_back(task)) return;
  const std::size_t waiting = mailbox_.push(std::move(task));
  if (waiting == 0) throw DeviceClosed(name_);
  if (waiting >= mailbox_threshold && waiting % mailbox_threshold == 0) {
    flush();
  } else {
    wake_background_if_deep();
  }
}

void Actor::flush() noexcept {
  if (in_forked_child() || idle()) return;
  kicked_.store(true, std::memory_order_seq_cst);
  wake_background();
  bell_.ring();  // the background thread may be asleep on the device's bell, as any waiter
}

void Actor::wake_background_if_deep() noexcept {
  if (deep_.load(std::memory_order_seq_cst) && !idle()) wake_background();
}

bool Actor::idle() const noexcept {
  // In this order: whoever empties the mailbox holds the token until what it makes of it is in the streams.
  return mailbox_.size() == 0 && !token_.load(std::memory_order_seq_cst) && !side_work_.pending() &&
         !has_continuations_.load(std::memory_order_seq_cst);
}

void Actor::release_token() noexcept {
  token_.store(false, std::memory_order_seq_cst);
  bell_.ring();
  if (watchers_.load(std::memory_order_seq_cst) == 0) wake_background_if_deep();
}

void Actor::run_tasks() {
  if (mailbox_.size() == 0) return;
  TaskList tasks = mailbox_.take_all();
  const Inside inside(*this, false);
  while (const auto task = tasks.take()) {
    try {
      task->run(device_);
    } catch (const std::exception& error) {
      // Tasks taint what they leave unwritten; one that throws all the same must not end the actor.
      spdlog::error("muster: a task on {} threw: {}", name_, error.what());
    } catch (...) {
      spdlog::error("muster: a task on {} threw something that is not an exception", name_);
    }
  }
}

bool Actor::run_mailbox() {
  if (mailbox_.size() == 0) return false;
  const Token token(*this);
  if (!token) return false;
  run_tasks();
  return true;
}

bool Actor::run_continuations() {
  if (!has_continuations_.load(std::memory_order_acquire)) return false;
  std::vector<std::coroutine_handle<>> ready;
  {
    const std::lock_guard lock(extras_mutex_);
    ready.swap(continuations_);
    has_continuations_.store(false, std::memory_order_seq_cst);
  }
  for (const auto handle : ready) handle.resume();
  return !ready.empty();
}

bool Actor::run_once() {
  bool moved = run_mailbox();
  moved |= side_work_.run_some();
  moved |= run_continuations();
  return moved;
}

void Actor::resume_soon(std::coroutine_handle<> handle) {
  {
    const std::lock_guard lock(extras_mutex_);
    continuations_.push_back(handle);
    has_continuations_.store(true, std::memory_order_seq_cst);
  }
  bell_.ring();
  wake_background_if_deep();
}

void Actor::add_progress(std::shared_ptr<ExternalProgress> progress) {
  const std::lock_guard lock(extras_mutex_);
  progress_.push_back(std::move(progress));
  has_progress_.store(true, std::memory_order_release);
}

bool Actor::may_sleep() {
  if (!has_progress_.load(std::memory_order_acquire)) return true;
  const std::lock_guard lock(extras_mutex_);
  return std::all_of(progress_.begin(), progress_.end(), [](const auto& each) { return each->arm(); });
}

bool Actor::wait_for(FunctionPointer done, void* argument, Deadline deadline, WhenClosed when_closed) {
  require_outside();
  const Watch watch(*this);
  Backoff backoff;
  for (;;) {
    if (done(argument)) return true;
    if (run_once()) {
      backoff.reset();
      continue;
    }
    if (backoff.slow()) {
      if (deadline.passed()) return done(argument);
      if (closed() && when_closed == WhenClosed::raise) throw DeviceClosed(name_);
    }
    if (backoff.pause()) continue;
    const std::uint32_t ticket = bell_.announce();
    // Anything that changed before the announcement is seen here, anything after it rings.
    if (done(argument) || run_once() || (closed() && when_closed == WhenClosed::raise) || !may_sleep()) {
      bell_.leave();
      backoff.reset();
      continue;
    }
    bell_.sleep(ticket, std::min<std::chrono::nanoseconds>(longest_sleep, deadline.left()));
  }
}

void Actor::background() {
  pthread_setname_np(pthread_self(), "muster-device");
  Backoff backoff;
  int idle_ticks = 0;
  while (!stopping_.load(std::memory_order_acquire)) {
    const bool kicked = kicked_.exchange(false, std::memory_order_seq_cst);
    const bool alone = watchers_.load(std::memory_order_seq_cst) == 0;
    if (!idle()) {
      idle_ticks = 0;
      bool moved = false;
      {
        const Watch watch(*this);
        moved = run_once();
      }
      if (moved) {
        kicked_.store(kicked_.load() || kicked, std::memory_order_seq_cst);
        backoff.reset();
        continue;
      }
      if (alone && backoff.pause()) continue;
    } else {
      ++idle_ticks;
    }
    backoff.reset();
    // One bell for both: what moves a stream rings the device's bell, what needs this thread rings its own.
    const bool pending = !idle();
    if (pending && alone) {
      const std::uint32_t ticket = bell_.announce();
      if (run_once() || kicked_.load() || stopping_.load() || !may_sleep()) {
        bell_.leave();
      } else {
        bell_.sleep(ticket, 4 * background_tick);
      }
      continue;
    }
    const std::uint32_t ticket = background_bell_.announce();
    const bool deep = !pending && idle_ticks > idle_ticks_before_deep_sleep;
    if (deep) deep_.store(true, std::memory_order_seq_cst);
    if (kicked_.load(std::memory_order_seq_cst) || stopping_.load() || (deep && !idle())) {
      background_bell_.leave();
    } else {
      background_bell_.sleep(ticket, deep ? std::chrono::nanoseconds(1h) : std::chrono::nanoseconds(background_tick));
    }
    if (deep) idle_ticks = 0;
    deep_.store(false, std::memory_order_seq_cst);
  }
}

void Actor::close() noexcept {
  if (in_forked_child()) {
    closed_.store(true);
    if (thread_.joinable()) thread_.detach();  // it exists in the parent only
    return;
  }
  if (!closed_.exchange(true, std::memory_order_seq_cst)) {
    {
      // What a holder held back runs, too: it may be waited for.
      const std::lock_guard lock(held_back_mutex_);
      for (auto& task : held_back_) mailbox_.push(std::move(task));
      held_back_.clear();
    }
    mailbox_.close();
    // Tasks already accepted still run, so that nobody waits for one for ever.
    Backoff backoff;
    while (mailbox_.size() != 0) {
      if (!run_mailbox() && !backoff.pause()) backoff.reset();
    }
  }
  stopping_.store(true, std::memory_order_seq_cst);
  bell_.ring();
  background_bell_.ring();
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
}

}  // namespace muster::detail
