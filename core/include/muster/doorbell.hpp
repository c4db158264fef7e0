#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace muster {

/// Wakes threads that sleep until a state changes. Lives in plain or in shared memory; all zero is a valid new one.
///
/// The writer stores the state, then rings. The sleeper announces itself, looks at the state again, then sleeps. The
/// read-modify-write on `sleepers_` orders the two, so that no ring is lost.
class Doorbell {
 public:
  /// Wakes all sleepers, if any. Call after the change is stored.
  void ring() noexcept {
    if (sleepers_.fetch_add(0, std::memory_order_acq_rel) != 0) wake();
  }
  /// As ring(), for many bells after one `publish_to_sleepers()`: reads the bell without owning its cache line.
  void ring_after_publish() noexcept {
    if (sleepers_.load(std::memory_order_seq_cst) != 0) wake();
  }

  /// Announces a sleeper and returns the ticket for sleep(). Look at the state after this, then sleep or leave.
  std::uint32_t announce() noexcept {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
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

/// Orders all earlier stores before the following reads of doorbells.
inline void publish_to_sleepers() noexcept {
#if defined(__SANITIZE_THREAD__)
  static std::atomic<int> fence{0};
  fence.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

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
