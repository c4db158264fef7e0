#include "muster/kernel_language.hpp"

/// out[i] = the linear index of the thread within the grid, by all index functions; grid and block of any shape
MUSTER_KERNEL(linear_index_u32, muster::kernel::u32* out) {
  const auto t = muster::kernel::thread_index(), b = muster::kernel::block_index();
  const auto size = muster::kernel::block_size(), grid = muster::kernel::grid_size();
  const auto in_block = (t.z * size.y + t.y) * size.x + t.x;
  const auto block = (b.z * grid.y + b.y) * grid.x + b.x;
  const auto i = block * size.x * size.y * size.z + in_block;
  out[i] = i;
}

/// Reverses the elements of each block through shared memory, `rounds` times.
MUSTER_KERNEL(reverse_blocks_u32, muster::kernel::u32* values, muster::kernel::u32 rounds) {
  MUSTER_SHARED(muster::kernel::u32, kept, 1024);
  const auto thread = muster::kernel::thread_index().x, size = muster::kernel::block_size().x;
  const auto i = muster::kernel::global_index();
  for (muster::kernel::u32 round = 0; round < rounds; ++round) {
    kept[thread] = values[i];
    muster::kernel::sync_block();
    values[i] = kept[size - 1 - thread];
    muster::kernel::sync_block();
  }
}

/// The last thread of a block sets a flag that the others wait for.
MUSTER_KERNEL(wait_for_last_thread, muster::kernel::u32* flag, muster::kernel::u32* seen) {
  using muster::kernel::Scope;
  const auto thread = muster::kernel::thread_index().x, size = muster::kernel::block_size().x;
  if (thread == size - 1) muster::kernel::atomic_store<Scope::block>(flag, 7U);
  while (muster::kernel::atomic_load<Scope::block>(flag) == 0) muster::kernel::relax();
  seen[thread] = muster::kernel::atomic_load<Scope::block>(flag);
}

/// Two devices count together: each adds 1 when it is its turn, `rounds` times. turn 0 begins.
MUSTER_KERNEL(take_turns, muster::kernel::u32* turn, muster::kernel::u64* counter, muster::kernel::u32 me,
              muster::kernel::u32 rounds) {
  using muster::kernel::Scope;
  for (muster::kernel::u32 round = 0; round < rounds; ++round) {
    while (muster::kernel::atomic_load<Scope::system>(turn) != me) muster::kernel::relax();
    *counter += 1;
    muster::kernel::atomic_store<Scope::system>(turn, 1 - me);
  }
}

/// *largest = the largest of the values, and *claimed = how many threads claimed the flag (one).
MUSTER_KERNEL(atomics_u32, const muster::kernel::u32* values, muster::kernel::u32* largest, muster::kernel::u32* claimed,
              muster::kernel::u32* flag, const muster::kernel::u64* shape) {
  using muster::kernel::Scope;
  const auto i = muster::kernel::global_index();
  if (i >= shape[0]) return;
  muster::kernel::atomic_max<Scope::device>(largest, values[i]);
  if (muster::kernel::atomic_compare_exchange<Scope::device>(flag, 0U, 1U) == 0) {
    muster::kernel::atomic_add<Scope::system>(claimed, 1U);
  }
}
