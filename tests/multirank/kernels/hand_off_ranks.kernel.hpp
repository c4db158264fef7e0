#include "muster/kernel_language.hpp"

/// Two ranks count together: each adds 1 when it is its turn, `rounds` times. turn 0 begins.
MUSTER_KERNEL(take_turns_across_ranks, muster::kernel::u64* turn, muster::kernel::u64* counter, muster::kernel::u64 me,
              muster::kernel::u32 rounds) {
  using muster::kernel::Scope;
  for (muster::kernel::u32 round = 0; round < rounds; ++round) {
    while (muster::kernel::atomic_load<Scope::system>(turn) != me) muster::kernel::relax();
    *counter += 1;
    muster::kernel::atomic_store<Scope::system>(turn, 1 - me);
  }
}
