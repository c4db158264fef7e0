#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace muster {

/// Two halves of a fence between a thread that stores and then looks for sleepers, and one that announces itself as a
/// sleeper and then looks at what was stored. The first runs all the time, so it costs nothing where the second can make
/// every core pass a barrier (membarrier(2)); elsewhere both are full fences.
void fence_before_sleep() noexcept;
void full_fence_before_ring() noexcept;
extern const bool cores_can_be_fenced;

inline void fence_before_ring() noexcept {
  if (cores_can_be_fenced) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    full_fence_before_ring();
  }
}

/// Wakes threads that sleep until a state changes. Lives in plain or in shared memory; all zero is a valid new one.
///
/// The writer stores the state, then rings. The sleeper announces itself, looks at the state again, then sleeps.
class Doorbell {
 public:
  /// Wakes all sleepers, if any. Call after the change is stored. Only reads where nobody sleeps, so that bells of other
  /// cores stay in their caches.
  void ring() noexcept {
    fence_before_ring();
    if (sleepers_.load(std::memory_order_acquire) != 0) wake();
  }

  /// Announces a sleeper and returns the ticket for sleep(). Look at the state after this, then sleep or leave.
  std::uint32_t announce() noexcept {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    fence_before_sleep();
    return rings_.load(std::memory_order_acquire);
  }
  /// Sleeps until a ring after `ticket`, or at most `span`. The announcement ends.
  void sleep(std::uint32_t ticket, std::chrono::nanoseconds span) noexcept;
  void leave() noexcept { sleepers_.fetch_sub(1, std::memory_order_acq_rel); }

 private:
  void wake() noexcept;
  std::atomic<std::uint32_t> rings_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

/// How threads of this process wait: how often they look again before they yield, and before they sleep.
struct WaitPolicy {
  int spins = 0;
  int yields = 0;
};
/// For `threads` that want to run at once on `cores`: spinning only where each has a core of its own.
WaitPolicy wait_policy_for(int threads, int cores) noexcept;
void set_wait_policy(WaitPolicy policy) noexcept;
WaitPolicy wait_policy() noexcept;

}  // namespace muster
