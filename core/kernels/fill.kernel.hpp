#include "muster/kernel_language.hpp"

// All kernels here take one element per thread along x, unless they say otherwise.

/// out[i] = value, for i < n
MUSTER_KERNEL(fill_f32, float* out, float value, muster::kernel::u64 n) {
  const auto i = muster::kernel::global_index();
  if (i < n) out[i] = value;
}

/// out[i] = first + i * step, for i < n
MUSTER_KERNEL(ramp_f32, float* out, float first, float step, muster::kernel::u64 n) {
  const auto i = muster::kernel::global_index();
  if (i < n) out[i] = first + static_cast<float>(i) * step;
}
