#include "muster/kernel_language.hpp"

/// c[i][j] = sum over k of a[i][k] * b[k][j], row major, a: rows x inner, b: inner x columns. Blocks of 16 x 16 threads,
/// one element each; the grid is columns / 16 by rows / 16, rounded up. Each sum runs over k in order.
MUSTER_KERNEL(matmul_f32, const float* a, const float* b, float* c, muster::kernel::u32 rows, muster::kernel::u32 inner,
              muster::kernel::u32 columns) {
  constexpr muster::kernel::u32 tile = 16;
  MUSTER_SHARED(float, tile_a, tile* tile);
  MUSTER_SHARED(float, tile_b, tile* tile);
  const auto thread = muster::kernel::thread_index();
  const auto block = muster::kernel::block_index();
  const auto row = block.y * tile + thread.y, column = block.x * tile + thread.x;
  const auto own = thread.y * tile + thread.x;
  float sum = 0;
  for (muster::kernel::u32 first = 0; first < inner; first += tile) {
    const auto k_a = first + thread.x, k_b = first + thread.y;
    tile_a[own] = row < rows && k_a < inner ? a[static_cast<muster::kernel::u64>(row) * inner + k_a] : 0.0F;
    tile_b[own] = column < columns && k_b < inner ? b[static_cast<muster::kernel::u64>(k_b) * columns + column] : 0.0F;
    muster::kernel::sync_block();
    for (muster::kernel::u32 k = 0; k < tile; ++k) sum += tile_a[thread.y * tile + k] * tile_b[k * tile + thread.x];
    muster::kernel::sync_block();
  }
  if (row < rows && column < columns) c[static_cast<muster::kernel::u64>(row) * columns + column] = sum;
}
