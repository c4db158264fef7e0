#include "muster/kernel_language.hpp"

// What throughput probes run: each thread has a stretch of its own.

/// out[i] = sum of the stretch of thread i, `stretch` elements of u64
MUSTER_KERNEL(probe_read, const muster::kernel::u64* in, muster::kernel::u64* out, muster::kernel::u64 stretch,
              muster::kernel::u64 threads) {
  const auto i = muster::kernel::global_index();
  if (i >= threads) return;
  const muster::kernel::u64* own = in + i * stretch;
  muster::kernel::u64 sum = 0;
  for (muster::kernel::u64 k = 0; k < stretch; ++k) sum += own[k];
  out[i] = sum;
}

/// Writes `value` to the stretch of each thread.
MUSTER_KERNEL(probe_write, muster::kernel::u64* out, muster::kernel::u64 value, muster::kernel::u64 stretch,
              muster::kernel::u64 threads) {
  const auto i = muster::kernel::global_index();
  if (i >= threads) return;
  muster::kernel::u64* own = out + i * stretch;
  for (muster::kernel::u64 k = 0; k < stretch; ++k) own[k] = value;
}

// Each thread runs `rounds` of 64 independent multiply-adds.
#define MUSTER_PROBE_FMA(name, type, scalar)                                               \
  MUSTER_KERNEL(name, type* out, scalar factor, scalar term, muster::kernel::u64 rounds) { \
    constexpr int lanes = 64;                                                              \
    type sums[lanes];                                                                      \
    for (int k = 0; k < lanes; ++k) sums[k] = static_cast<type>(k);                        \
    const type a = static_cast<type>(factor), b = static_cast<type>(term);                 \
    for (muster::kernel::u64 round = 0; round < rounds; ++round) {                         \
      for (int k = 0; k < lanes; ++k) sums[k] = static_cast<type>(sums[k] * a + b);        \
    }                                                                                      \
    type sum = 0;                                                                          \
    for (int k = 0; k < lanes; ++k) sum = static_cast<type>(sum + sums[k]);                \
    out[muster::kernel::global_index()] = sum;                                             \
  }
MUSTER_PROBE_FMA(probe_fma_f32, float, float)
MUSTER_PROBE_FMA(probe_fma_f64, double, double)
MUSTER_PROBE_FMA(probe_fma_u32, muster::kernel::u32, muster::kernel::u32)
MUSTER_PROBE_FMA(probe_fma_u64, muster::kernel::u64, muster::kernel::u64)
#undef MUSTER_PROBE_FMA
