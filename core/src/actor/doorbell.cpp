#include "muster/doorbell.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace muster {

namespace {

#if defined(__SANITIZE_THREAD__)
// The sanitizer knows neither membarrier nor fences; a read-modify-write of one word orders the two sides for it.
std::atomic<int> fence_word{0};
bool register_for_fences() noexcept { return false; }
void full_fence() noexcept { fence_word.fetch_add(1, std::memory_order_seq_cst); }
#else
bool register_for_fences() noexcept { return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0; }
void full_fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
#endif

}  // namespace

// All processes of a host run on one kernel, so all of them decide alike.
const bool cores_can_be_fenced = register_for_fences();

void full_fence_before_ring() noexcept { full_fence(); }

void fence_before_sleep() noexcept {
  if (cores_can_be_fenced) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
  } else {
    full_fence();
  }
}

void Doorbell::wake() noexcept {
  rings_.fetch_add(1, std::memory_order_release);
  // Not FUTEX_PRIVATE: the bell may be in memory shared with other processes.
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&rings_), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Doorbell::sleep(std::uint32_t ticket, std::chrono::nanoseconds span) noexcept {
  if (span.count() > 0) {
    timespec timeout{};
    timeout.tv_sec = static_cast<time_t>(span.count() / 1'000'000'000);
    timeout.tv_nsec = static_cast<long>(span.count() % 1'000'000'000);
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&rings_), FUTEX_WAIT, ticket, &timeout, nullptr, 0);
  }
  leave();
}

namespace {
// Two numbers in one word, so that a reader never sees halves of two policies.
std::atomic<std::uint64_t> policy_word{(2000ULL << 32U) | 100ULL};
}  // namespace

WaitPolicy wait_policy_for(int threads, int cores) noexcept {
  // More waiters than cores: whoever spins keeps the one that it waits for from running.
  if (threads > cores) return {0, 64};
  return {4000, 200};
}

void set_wait_policy(WaitPolicy policy) noexcept {
  policy_word.store((static_cast<std::uint64_t>(policy.spins) << 32U) | static_cast<std::uint32_t>(policy.yields),
                    std::memory_order_relaxed);
}

WaitPolicy wait_policy() noexcept {
  const auto word = policy_word.load(std::memory_order_relaxed);
  return {static_cast<int>(word >> 32U), static_cast<int>(word & 0xffffffffU)};
}

}  // namespace muster
