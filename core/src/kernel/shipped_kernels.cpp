#include <fmt/format.h>

#include <limits>

#include "muster/error.hpp"
#include "muster/kernel_language_host.hpp"
#include "muster/kernels.hpp"

#include "elementwise.kernel.hpp"
#include "fill.kernel.hpp"
#include "matmul.kernel.hpp"
#include "reduction.kernel.hpp"
#include "softmax.kernel.hpp"

namespace muster::kernels {

namespace {

constexpr Dim3 line{256, 1, 1}, tile{16, 16, 1};

// The texts, for backends that compile them at run time.
const bool registered = [] {
  register_kernel_source("elementwise.kernel.hpp",
#include "elementwise.kernel.inc"
  );
  register_kernel_source("fill.kernel.hpp",
#include "fill.kernel.inc"
  );
  register_kernel_source("matmul.kernel.hpp",
#include "matmul.kernel.inc"
  );
  register_kernel_source("reduction.kernel.hpp",
#include "reduction.kernel.inc"
  );
  return register_kernel_source("softmax.kernel.hpp",
#include "softmax.kernel.inc"
  );
}();

/// Made at the first use and never destroyed: kernels may be queued while the process ends.
template <const KernelDefinition& definition>
const Kernel& kernel_of(Dim3 block) {
  static const auto* const kernel = new Kernel(definition, block);
  return *kernel;
}

}  // namespace

const Kernel& fill() { return kernel_of<fill_f32>(line); }
const Kernel& ramp() { return kernel_of<ramp_f32>(line); }
const Kernel& axpy() { return kernel_of<axpy_f32>(line); }
const Kernel& add() { return kernel_of<add_f32>(line); }
const Kernel& multiply() { return kernel_of<multiply_f32>(line); }
const Kernel& relu() { return kernel_of<relu_f32>(line); }
const Kernel& gelu() { return kernel_of<gelu_f32>(line); }
const Kernel& sum_blocks() { return kernel_of<sum_blocks_f32>(line); }
const Kernel& count_nonzero_u32() { return kernel_of<::count_nonzero_u32>(line); }
const Kernel& softmax_rows() { return kernel_of<softmax_rows_f32>(line); }
const Kernel& layer_norm_rows() { return kernel_of<layer_norm_rows_f32>(line); }
const Kernel& matmul() { return kernel_of<matmul_f32>(tile); }

Count blocks_for(const Kernel& kernel, std::uint64_t n) {
  const std::uint64_t threads = kernel.state().definition ? kernel.state().block.x : 1;
  const std::uint64_t blocks = (n + threads - 1) / threads;
  if (blocks > std::numeric_limits<std::uint32_t>::max()) {
    throw UsageError(
        fmt::format("{} elements need {} blocks of kernel '{}', which is more than a grid has", n, blocks, kernel.name()));
  }
  return {static_cast<std::uint32_t>(blocks)};
}

Count matmul_grid(std::uint32_t rows, std::uint32_t columns) {
  return {(columns + tile.x - 1) / tile.x, (rows + tile.y - 1) / tile.y};
}

}  // namespace muster::kernels
