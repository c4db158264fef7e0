#include "muster/kernel_language.hpp"

/// out[r][c] = exp(in[r][c] - max of row r) / sum over the row, one block per row, rows of `columns` elements. Sums in the
/// order of the columns, whatever the block size.
MUSTER_KERNEL(softmax_rows_f32, const float* in, float* out, muster::kernel::u64 columns) {
  MUSTER_SHARED(float, row_values, 2);
  const auto thread = muster::kernel::thread_index().x;
  const auto threads = muster::kernel::block_size().x;
  const auto first = static_cast<muster::kernel::u64>(muster::kernel::block_index().x) * columns;
  if (thread == 0) {
    float largest = in[first];
    for (muster::kernel::u64 c = 1; c < columns; ++c) largest = muster::kernel::max(largest, in[first + c]);
    float sum = 0;
    for (muster::kernel::u64 c = 0; c < columns; ++c) sum += muster::kernel::exp(in[first + c] - largest);
    row_values[0] = largest;
    row_values[1] = 1.0F / sum;
  }
  muster::kernel::sync_block();
  for (muster::kernel::u64 c = thread; c < columns; c += threads) {
    out[first + c] = muster::kernel::exp(in[first + c] - row_values[0]) * row_values[1];
  }
}

/// out[r][c] = (in[r][c] - mean) / sqrt(variance + epsilon) * scale[c] + shift[c] over row r, one block per row (Ba, Kiros
/// and Hinton, 2016). Out of place.
MUSTER_KERNEL(layer_norm_rows_f32, const float* in, const float* scale, const float* shift, float* out, float epsilon,
              muster::kernel::u64 columns) {
  MUSTER_SHARED(float, row_values, 2);
  const auto thread = muster::kernel::thread_index().x;
  const auto threads = muster::kernel::block_size().x;
  const auto first = static_cast<muster::kernel::u64>(muster::kernel::block_index().x) * columns;
  if (thread == 0) {
    float sum = 0;
    for (muster::kernel::u64 c = 0; c < columns; ++c) sum += in[first + c];
    const float mean = sum / static_cast<float>(columns);
    float squares = 0;
    for (muster::kernel::u64 c = 0; c < columns; ++c) squares += (in[first + c] - mean) * (in[first + c] - mean);
    row_values[0] = mean;
    row_values[1] = 1.0F / muster::kernel::sqrt(squares / static_cast<float>(columns) + epsilon);
  }
  muster::kernel::sync_block();
  for (muster::kernel::u64 c = thread; c < columns; c += threads) {
    out[first + c] = (in[first + c] - row_values[0]) * row_values[1] * scale[c] + shift[c];
  }
}
