#include "muster/kernel_language.hpp"

/// partial[b] = sum of values[i] over the elements of block b, in a tree whose shape depends on the block size only: the
/// same bits in every run. Blocks of a power of two of threads, at most 1024. Run it again on `partial` for the whole sum.
MUSTER_KERNEL(sum_blocks_f32, const float* values, float* partial, muster::kernel::u64 n) {
  MUSTER_SHARED(float, sums, 1024);
  const auto thread = muster::kernel::thread_index().x;
  const auto i = muster::kernel::global_index();
  sums[thread] = i < n ? values[i] : 0.0F;
  for (auto half = muster::kernel::block_size().x / 2; half > 0; half /= 2) {
    muster::kernel::sync_block();
    if (thread < half) sums[thread] += sums[thread + half];
  }
  if (thread == 0) partial[muster::kernel::block_index().x] = sums[0];
}

/// *count += how many of values[i], i < n, are not equal to 0; one atomic for each that is.
MUSTER_KERNEL(count_nonzero_u32, const muster::kernel::u32* values, muster::kernel::u32* count, muster::kernel::u64 n) {
  const auto i = muster::kernel::global_index();
  if (i < n && values[i] != 0) muster::kernel::atomic_add<muster::kernel::Scope::device>(count, 1U);
}
