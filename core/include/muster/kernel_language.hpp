#pragma once

// The language of single-source kernels. A `.kernel.hpp` file includes this header only; the host compiler builds it for
// host devices, and its text is compiled by NVRTC for GPUs.
//
//   MUSTER_KERNEL(axpy, const float* x, float* y, float a, muster::kernel::u64 n) {
//     const auto i = muster::kernel::global_index();
//     if (i < n) y[i] += a * x[i];
//   }
//
// Parameters are pointers to device memory (const: read only), integers and floats, in the order of the launch's
// arguments; a pointer to const u64 also takes metadata. In a kernel: thread_index(), block_index(), block_size() and
// grid_size() in three dimensions, global_index() along x, sync_block() for all threads of a block, MUSTER_SHARED for
// memory of a block, and atomics with a scope. sync_block() must be reached by all threads of a block that have not
// returned. Nothing else of the standard library is at hand on a GPU, and no exceptions.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#include "muster/kernel_language_cuda.hpp"
#else
#include "muster/kernel_language_host.hpp"
#endif
