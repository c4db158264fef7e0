#pragma once

// kernel_language.hpp as the host compiler sees it: threads of a block are run one after the other by one core, and become
// fibers where they meet at a barrier. Keep the two halves in step.

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "muster/kernel.hpp"

namespace muster {

/// What a parameter of a kernel takes.
enum class KernelParameter : std::uint8_t { input, output, integer, real };

namespace detail {
class BlockRunner;
/// Runs `thread(arguments)` for every thread of the block that `runner` is at.
void run_threads(BlockRunner& runner, void (*thread)(void*), void* arguments);
/// Memory of the current block, the same for all its threads, for the declaration `place`.
void* shared_memory(const void* place, std::size_t size, std::size_t alignment);
void sync_block();
}  // namespace detail

/// A kernel of a `.kernel.hpp` file, as MUSTER_KERNEL makes it.
struct KernelDefinition {
  std::string_view name;
  std::string_view file;
  std::vector<KernelParameter> parameters;
  void (*run)(std::span<const KernelContext::Slot>, detail::BlockRunner&) = nullptr;
};

/// The text of a file of kernels, as muster_add_kernels embeds it; empty where it was not embedded.
std::string_view kernel_source(std::string_view file) noexcept;
/// For the generated code.
bool register_kernel_source(std::string_view file, std::string_view text);

namespace kernel {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

struct Index {
  u32 x, y, z;
};

/// Who sees an atomic operation. All scopes are the same on a host.
enum class Scope { block, device, system };

/// Where the calling thread of a kernel is.
struct Position {
  Index thread{}, block{}, block_size{}, grid_size{};
};
inline thread_local const Position* position = nullptr;

inline Index thread_index() { return position->thread; }
inline Index block_index() { return position->block; }
inline Index block_size() { return position->block_size; }
inline Index grid_size() { return position->grid_size; }
inline u64 global_index() { return static_cast<u64>(position->block.x) * position->block_size.x + position->thread.x; }
inline void sync_block() { detail::sync_block(); }

template <Scope scope, class T>
T atomic_add(T* address, T value) {
  return std::atomic_ref<T>(*address).fetch_add(value);
}
template <Scope scope, class T>
T atomic_max(T* address, T value) {
  std::atomic_ref<T> reference(*address);
  T before = reference.load();
  while (before < value && !reference.compare_exchange_weak(before, value)) {
  }
  return before;
}
template <Scope scope, class T>
T atomic_exchange(T* address, T value) {
  return std::atomic_ref<T>(*address).exchange(value);
}
/// The value before; it was replaced where that equals `expected`.
template <Scope scope, class T>
T atomic_compare_exchange(T* address, T expected, T value) {
  std::atomic_ref<T>(*address).compare_exchange_strong(expected, value);
  return expected;
}
/// Sees what was written before the store that it reads from.
template <Scope scope, class T>
T atomic_load(const T* address) {
  return std::atomic_ref<T>(*const_cast<T*>(address)).load(std::memory_order_acquire);
}
template <Scope scope, class T>
void atomic_store(T* address, T value) {
  std::atomic_ref<T>(*address).store(value, std::memory_order_release);
}
/// In a loop that waits for another thread: lets it run.
void relax();

using std::erf;
using std::exp;
using std::sqrt;
using std::tanh;
template <class T>
T max(T a, T b) {
  return a < b ? b : a;
}
template <class T>
T min(T a, T b) {
  return b < a ? b : a;
}

namespace binding {

template <class P>
constexpr KernelParameter parameter() {
  if constexpr (std::is_pointer_v<P>) {
    return std::is_const_v<std::remove_pointer_t<P>> ? KernelParameter::input : KernelParameter::output;
  } else if constexpr (std::is_integral_v<P>) {
    return KernelParameter::integer;
  } else {
    static_assert(std::is_floating_point_v<P>, "a kernel takes pointers, integers and floats");
    return KernelParameter::real;
  }
}

template <class P>
P value(const KernelContext::Slot& slot) {
  if constexpr (std::is_pointer_v<P>) {
    if constexpr (std::is_same_v<P, const u64*>) {
      if (!slot.words.empty()) return slot.words.data();
    }
    return reinterpret_cast<P>(slot.memory.data());
  } else if constexpr (std::is_integral_v<P>) {
    return static_cast<P>(slot.integer);
  } else {
    return static_cast<P>(slot.real);
  }
}

template <auto function>
struct Bind;
template <class... P, void (*function)(P...)>
struct Bind<function> {
  static void run(std::span<const KernelContext::Slot> slots, detail::BlockRunner& runner) {
    auto arguments = [&]<std::size_t... i>(std::index_sequence<i...>) { return std::tuple<P...>{value<P>(slots[i])...}; }
    (std::index_sequence_for<P...>{});
    detail::run_threads(
        runner, [](void* packed) { std::apply(function, *static_cast<std::tuple<P...>*>(packed)); }, &arguments);
  }
  static KernelDefinition define(std::string_view name, std::string_view file) {
    return {name, file.substr(file.rfind('/') + 1), {parameter<P>()...}, &run};
  }
};

}  // namespace binding
}  // namespace kernel
}  // namespace muster

#define MUSTER_KERNEL(name, ...)                                                                                           \
  static void name##_thread(__VA_ARGS__);                                                                                  \
  static const ::muster::KernelDefinition name = ::muster::kernel::binding::Bind<&name##_thread>::define(#name, __FILE__); \
  static void name##_thread(__VA_ARGS__)

/// An array of `count` elements that the threads of a block share; its content is undefined at first.
#define MUSTER_SHARED(type, name, count) \
  static const char name##_place = 0;    \
  type* const name =                     \
      static_cast<type*>(::muster::detail::shared_memory(&name##_place, sizeof(type) * (count), alignof(type)))
