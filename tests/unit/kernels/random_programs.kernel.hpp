#include "muster/kernel_language.hpp"

/// out[i] = a[i] + b[i], for i < n
MUSTER_KERNEL(add_words, const muster::kernel::u32* a, const muster::kernel::u32* b, muster::kernel::u32* out,
              muster::kernel::u64 n) {
  const auto i = muster::kernel::global_index();
  if (i < n) out[i] = a[i] + b[i];
}
