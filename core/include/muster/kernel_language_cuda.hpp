#pragma once

// kernel_language.hpp as NVRTC compiles it; nothing for other compilers. Keep the two halves in step.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

#define MUSTER_KERNEL(name, ...) extern "C" __global__ void name(__VA_ARGS__)
#define MUSTER_SHARED(type, name, count) __shared__ type name[count]

namespace muster::kernel {

using u8 = unsigned char;
using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;

struct Index {
  u32 x, y, z;
};
enum class Scope { block, device, system };

__device__ inline Index thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
__device__ inline Index block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
__device__ inline Index block_size() { return {blockDim.x, blockDim.y, blockDim.z}; }
__device__ inline Index grid_size() { return {gridDim.x, gridDim.y, gridDim.z}; }
__device__ inline u64 global_index() { return static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline void sync_block() { __syncthreads(); }

template <Scope scope, class T>
__device__ T atomic_add(T* address, T value) {
  if constexpr (scope == Scope::block) return atomicAdd_block(address, value);
  if constexpr (scope == Scope::device) return atomicAdd(address, value);
  return atomicAdd_system(address, value);
}
template <Scope scope, class T>
__device__ T atomic_max(T* address, T value) {
  if constexpr (scope == Scope::block) return atomicMax_block(address, value);
  if constexpr (scope == Scope::device) return atomicMax(address, value);
  return atomicMax_system(address, value);
}
template <Scope scope, class T>
__device__ T atomic_exchange(T* address, T value) {
  if constexpr (scope == Scope::block) return atomicExch_block(address, value);
  if constexpr (scope == Scope::device) return atomicExch(address, value);
  return atomicExch_system(address, value);
}
/// The value before; it was replaced where that equals `expected`.
template <Scope scope, class T>
__device__ T atomic_compare_exchange(T* address, T expected, T value) {
  if constexpr (scope == Scope::block) return atomicCAS_block(address, expected, value);
  if constexpr (scope == Scope::device) return atomicCAS(address, expected, value);
  return atomicCAS_system(address, expected, value);
}
/// Sees what was written before the store that it reads from.
template <Scope scope, class T>
__device__ T atomic_load(const T* address) {
  const T value = *static_cast<const volatile T*>(address);
  if constexpr (scope == Scope::block) {
    __threadfence_block();
  } else if constexpr (scope == Scope::device) {
    __threadfence();
  } else {
    __threadfence_system();
  }
  return value;
}
template <Scope scope, class T>
__device__ void atomic_store(T* address, T value) {
  if constexpr (scope == Scope::block) {
    __threadfence_block();
  } else if constexpr (scope == Scope::device) {
    __threadfence();
  } else {
    __threadfence_system();
  }
  *static_cast<volatile T*>(address) = value;
}
/// In a loop that waits for another thread.
__device__ inline void relax() { __nanosleep(32); }

__device__ inline float exp(float x) { return expf(x); }
__device__ inline float tanh(float x) { return tanhf(x); }
__device__ inline float sqrt(float x) { return sqrtf(x); }
__device__ inline float erf(float x) { return erff(x); }
template <class T>
__device__ T max(T a, T b) {
  return a < b ? b : a;
}
template <class T>
__device__ T min(T a, T b) {
  return b < a ? b : a;
}

}  // namespace muster::kernel

#endif
