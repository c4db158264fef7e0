#pragma once

#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "actor/mailbox.hpp"
#include "muster/deadline.hpp"
#include "muster/device_work.hpp"
#include "muster/doorbell.hpp"

namespace muster::detail {

/// Work besides the mailbox that whoever waits for the actor may run: the streams of a host device.
class SideWork {
 public:
  virtual ~SideWork() = default;
  /// Runs what can be run now; whether anything moved. Any thread.
  virtual bool run_some() = 0;
  /// Whether anything waits or runs. Any thread; sequentially consistent.
  [[nodiscard]] virtual bool pending() const = 0;
};

/// A mailbox, the executor token, and a background thread: all tasks run one at a time, in order.
///
/// A thread that waits, helps: while it waits and the token is free, it runs the mailbox itself, and the side work. The
/// background thread takes over when nobody waits: on flush, past a threshold, or after a short delay.
class Actor {
 public:
  /// `bell` is rung whenever something that a waiter may wait for has changed. Tasks get `device`.
  Actor(std::string name, Doorbell& bell, SideWork& side_work, DeviceContext& device);
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  ~Actor();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Doorbell& bell() noexcept { return bell_; }

  /// Enqueues. Throws DeviceClosed.
  void submit(std::unique_ptr<Task> task);
  /// Runs `work` in order and returns when it has run; rethrows what it throws.
  template <class F>
  void submit_blocking(F&& work);
  /// The background thread takes over now.
  void flush() noexcept;
  /// Does the actor's work until `done()`; false if the deadline passed first. Throws DeviceClosed if the actor is
  /// closed meanwhile, UsageError where the calling thread is inside a task or an operation of this actor.
  template <class Predicate>
  bool help_until(Predicate&& done, Deadline deadline);

  /// Tasks of other threads are held back from now on, until release(). The calling thread, which may hold it several
  /// times, has the actor to itself once what came before is done. False if another thread held it until the deadline.
  bool hold(Deadline deadline);
  void release() noexcept;

  /// Resumes `handle` soon, on a thread that holds nothing of this actor.
  void resume_soon(std::coroutine_handle<> handle);
  void add_progress(std::shared_ptr<ExternalProgress> progress);

  /// Gets the background thread to look. Cheap where it is awake.
  void wake_background() noexcept { background_bell_.ring(); }
  [[nodiscard]] bool is_background_thread() const noexcept { return std::this_thread::get_id() == thread_.get_id(); }

  /// Runs what is queued, then refuses everything. Idempotent.
  void close() noexcept;
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

  /// Marks the calling thread as running an operation of `actor`, which it therefore must not wait for. While `computes`,
  /// it does not count as looking after the streams.
  class Inside {
   public:
    Inside(Actor& actor, bool computes) noexcept;
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside();

   private:
    Actor& actor_;
    Actor* outer_;
    bool watched_;
  };

 private:
  class Watch;
  class Token;
  using FunctionPointer = bool (*)(void*);

  bool take_token() noexcept { return !token_.exchange(true, std::memory_order_seq_cst); }
  void release_token() noexcept;
  void run_tasks();
  bool run_mailbox();
  bool run_continuations();
  bool run_once();
  /// What a wait does when the actor is closed: a result in the mailbox still comes, one of a peer does not.
  enum class WhenClosed : std::uint8_t { raise, keep_waiting };
  bool wait_for(FunctionPointer done, void* argument, Deadline deadline, WhenClosed when_closed);
  template <class Predicate>
  bool wait_for_predicate(Predicate& done, Deadline deadline, WhenClosed when_closed) {
    return wait_for([](void* argument) { return static_cast<bool>((*static_cast<Predicate*>(argument))()); },
                    const_cast<void*>(static_cast<const void*>(std::addressof(done))), deadline, when_closed);
  }
  [[nodiscard]] bool held_by_another() const noexcept {
    const auto holder = holder_.load(std::memory_order_acquire);
    return holder != std::thread::id{} && holder != std::this_thread::get_id();
  }
  bool hold_back(std::unique_ptr<Task>& task);
  void require_parent() const;
  void require_outside() const;
  [[nodiscard]] bool idle() const noexcept;
  bool may_sleep();
  void wake_background_if_deep() noexcept;
  void background();

  const std::string name_;
  Doorbell& bell_;
  SideWork& side_work_;
  DeviceContext& device_;
  Mailbox mailbox_;
  std::atomic<bool> token_{false};
  std::atomic<int> watchers_{0};  // threads that look after the streams now
  std::atomic<bool> closed_{false};

  /// The thread that has the actor to itself; its tasks go to the mailbox, those of others wait.
  std::atomic<std::thread::id> holder_{};
  int holds_ = 0;  // of the holder
  std::mutex held_back_mutex_;
  std::vector<std::unique_ptr<Task>> held_back_;

  mutable std::mutex extras_mutex_;
  std::vector<std::coroutine_handle<>> continuations_;
  std::vector<std::shared_ptr<ExternalProgress>> progress_;
  std::atomic<bool> has_continuations_{false};
  std::atomic<bool> has_progress_{false};

  std::atomic<bool> stopping_{false};
  std::atomic<bool> kicked_{false};
  std::atomic<bool> deep_{false};  // the background thread sleeps until it is woken
  Doorbell background_bell_;
  std::thread thread_;
};

template <class Predicate>
bool Actor::help_until(Predicate&& done, Deadline deadline) {
  if (done()) return true;
  return wait_for_predicate(done, deadline, WhenClosed::raise);
}

}  // namespace muster::detail

#include "actor/submit_blocking.hpp"
