#pragma once

#include <sched.h>

#include "muster/doorbell.hpp"

namespace muster::detail {

/// Tells the core that this is a spin loop.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins, then yields, as the wait policy of the process says; after that the caller should sleep.
class Backoff {
 public:
  /// False once it is time to sleep.
  bool pause() noexcept {
    if (steps_ < policy_.spins) {
      ++steps_;
      relax();
      return true;
    }
    if (steps_ < policy_.spins + policy_.yields) {
      ++steps_;
      sched_yield();
      return true;
    }
    return false;
  }
  void reset() noexcept { steps_ = 0; }
  /// Whether the calling thread gives its core away by now: time to look at clocks as well.
  [[nodiscard]] bool slow() const noexcept { return steps_ >= policy_.spins; }

 private:
  WaitPolicy policy_ = wait_policy();
  int steps_ = 0;
};

}  // namespace muster::detail
