#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "muster/dtype.hpp"
#include "muster/kernel.hpp"

namespace muster {

/// What a device is. Sizes in bytes.
struct DeviceProperties {
  std::string name;
  int cores = 0;  ///< that may run one kernel together
  std::size_t memory_bytes = 0;
  std::size_t memory_limit_bytes = 0;  ///< of ours; 0: none
  std::size_t allocation_alignment = 0;
  std::size_t l1_cache_bytes = 0, l2_cache_bytes = 0, l3_cache_bytes = 0;  ///< of one core; 0: unknown
  Dim3 largest_grid{};
  std::uint32_t largest_block = 0;      ///< threads of one block
  std::size_t shared_memory_bytes = 0;  ///< of one block
  int plane_width = 1;                  ///< threads that run in lockstep
};

/// What a device can do.
struct DeviceFeatures {
  bool host_reads_memory = false;  ///< lazy reads need no copy
  bool system_atomics = false;     ///< between devices, in shared memory
  bool graphs = false;
  bool device_clock = false;  ///< profiling measures on the device
  std::vector<Dtype> dtypes;  ///< that kernels may load and store
};

/// What kernels for a device are compiled for.
struct TargetProperties {
  std::string architecture;             ///< `x86_64`, `sm_90`
  std::vector<std::string> extensions;  ///< of the instruction set: `avx2`, …
  int vector_bytes = 0;                 ///< of one register
};

/// Threads that run the grid of one kernel on each host device of this process, for devices that name no number. 0: the
/// cores that the process may use. Holds for launches that run from now on; World sets it where ranks share a host's cores.
void set_kernel_threads(int threads) noexcept;

}  // namespace muster
