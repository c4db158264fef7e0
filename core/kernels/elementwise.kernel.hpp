#include "muster/kernel_language.hpp"

/// y[i] += a * x[i], for i < n
MUSTER_KERNEL(axpy_f32, const float* x, float* y, float a, muster::kernel::u64 n) {
  const auto i = muster::kernel::global_index();
  if (i < n) y[i] += a * x[i];
}

/// out[i] = a[i] + b[i], for i < n. In place is fine, here and below.
MUSTER_KERNEL(add_f32, const float* a, const float* b, float* out, muster::kernel::u64 n) {
  const auto i = muster::kernel::global_index();
  if (i < n) out[i] = a[i] + b[i];
}

/// out[i] = a[i] * b[i], for i < n
MUSTER_KERNEL(multiply_f32, const float* a, const float* b, float* out, muster::kernel::u64 n) {
  const auto i = muster::kernel::global_index();
  if (i < n) out[i] = a[i] * b[i];
}

/// out[i] = max(a[i], 0), for i < n
MUSTER_KERNEL(relu_f32, const float* a, float* out, muster::kernel::u64 n) {
  const auto i = muster::kernel::global_index();
  if (i < n) out[i] = muster::kernel::max(a[i], 0.0F);
}

/// out[i] = gelu(a[i]), for i < n: x * Phi(x), by the error function (Hendrycks and Gimpel, 2016)
MUSTER_KERNEL(gelu_f32, const float* a, float* out, muster::kernel::u64 n) {
  const auto i = muster::kernel::global_index();
  if (i < n) out[i] = 0.5F * a[i] * (1.0F + muster::kernel::erf(a[i] * 0.70710678F));
}
