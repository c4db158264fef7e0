#pragma once

#include "muster/kernel.hpp"

/// Kernels that come with muster, for float32 unless the name says otherwise. What each computes, its arguments and its
/// grid stand in core/kernels/. Those without a word on it take blocks_for(n) blocks.
namespace muster::kernels {

const Kernel& fill();               ///< out, value, n
const Kernel& ramp();               ///< out, first, step, n
const Kernel& axpy();               ///< x, y (in out), a, n
const Kernel& add();                ///< a, b, out, n
const Kernel& multiply();           ///< a, b, out, n
const Kernel& relu();               ///< a, out, n
const Kernel& gelu();               ///< a, out, n
const Kernel& sum_blocks();         ///< values, partial (one per block), n
const Kernel& count_nonzero_u32();  ///< values, count (in out), n
const Kernel& softmax_rows();       ///< in, out, columns; one block per row
const Kernel& layer_norm_rows();    ///< in, scale, shift, out, epsilon, columns; one block per row
const Kernel& matmul();             ///< a, b, c, rows, inner, columns; matmul_grid(rows, columns) blocks

/// Blocks of `kernel` that hold at least `n` threads along x. Throws UsageError beyond 2^32 - 1 blocks.
Count blocks_for(const Kernel& kernel, std::uint64_t n);
Count matmul_grid(std::uint32_t rows, std::uint32_t columns);

}  // namespace muster::kernels
