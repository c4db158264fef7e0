// Compiled once per instruction set, with MUSTER_REDUCER_TABLE naming the table. All but that name is local to the file,
// so that no code for a newer processor is shared with the rest.

#include "reduce/reducer_table.hpp"

#include <cstring>

#include "reduce/element.hpp"

namespace muster::detail {
namespace {

constexpr std::size_t block = 2048;  // elements; accumulators of a block stay in the first-level cache

struct Sum {
  template <class T>
  static T apply(T a, T b) {
    // Integers wrap, which only unsigned arithmetic may; small types are promoted and cut again.
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    } else {
      return a + b;
    }
  }
};
struct Product {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
      return a * b;
    }
  }
};
struct Min {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      const T smaller = b < a ? b : a;
      return a != a ? a : (b != b ? b : smaller);
    } else {
      return b < a ? b : a;
    }
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      const T larger = a < b ? b : a;
      return a != a ? a : (b != b ? b : larger);
    } else {
      return a < b ? b : a;
    }
  }
};
struct And {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

// Elements stand where blocks of odd sizes put them, so nothing is assumed of their alignment. Compilers make one
// instruction of each of these.
template <class T>
T get(const std::byte* elements, std::size_t index) {
  T value;
  std::memcpy(&value, elements + index * sizeof(T), sizeof(T));
  return value;
}
template <class T>
void put(std::byte* elements, std::size_t index, T value) {
  std::memcpy(elements + index * sizeof(T), &value, sizeof(T));
}

/// Loads, adds and stores elements of T with Op, accumulating in A.
template <class T, class Op, class A, bool average>
struct Kernels {
  static constexpr bool plain = std::is_same_v<T, A> && !average;

  static void load(void* accumulator, const void* source, std::size_t count) {
    auto* a = static_cast<A*>(accumulator);
    const auto* s = static_cast<const std::byte*>(source);
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) a[i] = static_cast<A>(Element<T>::load(get<T>(s, i)));
  }
  static void add(void* accumulator, const void* source, std::size_t count) {
    auto* a = static_cast<A*>(accumulator);
    const auto* s = static_cast<const std::byte*>(source);
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) {
      a[i] = Op::template apply<A>(a[i], static_cast<A>(Element<T>::load(get<T>(s, i))));
    }
  }
  static void finish(void* destination, const void* accumulator, std::size_t count, std::size_t ranks) {
    auto* d = static_cast<std::byte*>(destination);
    const auto* a = static_cast<const A*>(accumulator);
    if constexpr (average) {
      const A divisor = static_cast<A>(ranks);
#pragma GCC ivdep
      for (std::size_t i = 0; i < count; ++i) {
        put<T>(d, i, Element<T>::store(static_cast<typename Element<T>::Accumulator>(a[i] / divisor)));
      }
    } else {
#pragma GCC ivdep
      for (std::size_t i = 0; i < count; ++i) put<T>(d, i, Element<T>::store(a[i]));
    }
  }
  static void reduce(void* destination, const void* const* sources, std::size_t sources_count, std::size_t count) {
    if constexpr (plain) {
      if (sources_count == 2) return reduce_pair(destination, sources[0], sources[1], count);
    }
    alignas(64) A accumulator[block];
    for (std::size_t at = 0; at < count; at += block) {
      const std::size_t now = count - at < block ? count - at : block;
      const std::size_t offset = at * sizeof(T);
      load(accumulator, static_cast<const std::byte*>(sources[0]) + offset, now);
      for (std::size_t s = 1; s < sources_count; ++s) {
        add(accumulator, static_cast<const std::byte*>(sources[s]) + offset, now);
      }
      finish(static_cast<std::byte*>(destination) + offset, accumulator, now, sources_count);
    }
  }
  static void reduce_pair(void* destination, const void* first, const void* second, std::size_t count) {
    auto* d = static_cast<std::byte*>(destination);
    const auto* a = static_cast<const std::byte*>(first);
    const auto* b = static_cast<const std::byte*>(second);
#pragma GCC ivdep
    for (std::size_t i = 0; i < count; ++i) put<T>(d, i, Op::template apply<T>(get<T>(a, i), get<T>(b, i)));
  }
  static constexpr Reducer reducer() { return {sizeof(A), &load, &add, &finish, &reduce}; }
};

template <class T>
using SumOfIntegers = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;

template <class T>
constexpr void fill_row(std::array<Reducer, all_reduce_ops.size()>& row) {
  using A = typename Element<T>::Accumulator;
  const auto at = [&](ReduceOp op) -> Reducer& { return row[static_cast<std::size_t>(op)]; };
  at(ReduceOp::sum) = Kernels<T, Sum, A, false>::reducer();
  at(ReduceOp::product) = Kernels<T, Product, A, false>::reducer();
  at(ReduceOp::min) = Kernels<T, Min, A, false>::reducer();
  at(ReduceOp::max) = Kernels<T, Max, A, false>::reducer();
  if constexpr (std::is_floating_point_v<A>) {
    at(ReduceOp::average) = Kernels<T, Sum, A, true>::reducer();
  } else {
    at(ReduceOp::average) = Kernels<T, Sum, SumOfIntegers<T>, true>::reducer();
    at(ReduceOp::bit_and) = Kernels<T, And, A, false>::reducer();
    at(ReduceOp::bit_or) = Kernels<T, Or, A, false>::reducer();
    at(ReduceOp::bit_xor) = Kernels<T, Xor, A, false>::reducer();
  }
}

constexpr void fill_boolean_row(std::array<Reducer, all_reduce_ops.size()>& row) {
  const auto at = [&](ReduceOp op) -> Reducer& { return row[static_cast<std::size_t>(op)]; };
  using A = std::uint8_t;
  at(ReduceOp::sum) = at(ReduceOp::max) = at(ReduceOp::bit_or) = Kernels<Boolean, Or, A, false>::reducer();
  at(ReduceOp::product) = at(ReduceOp::min) = at(ReduceOp::bit_and) = Kernels<Boolean, And, A, false>::reducer();
  at(ReduceOp::bit_xor) = Kernels<Boolean, Xor, A, false>::reducer();
}

constexpr ReducerTable make_table() {
  ReducerTable table{};
  const auto row = [&](Dtype dtype) -> auto& { return table[static_cast<std::size_t>(dtype)]; };
  fill_row<std::int8_t>(row(Dtype::i8));
  fill_row<std::uint8_t>(row(Dtype::u8));
  fill_row<std::int16_t>(row(Dtype::i16));
  fill_row<std::uint16_t>(row(Dtype::u16));
  fill_row<std::int32_t>(row(Dtype::i32));
  fill_row<std::uint32_t>(row(Dtype::u32));
  fill_row<std::int64_t>(row(Dtype::i64));
  fill_row<std::uint64_t>(row(Dtype::u64));
  fill_row<F16>(row(Dtype::f16));
  fill_row<BF16>(row(Dtype::bf16));
  fill_row<float>(row(Dtype::f32));
  fill_row<double>(row(Dtype::f64));
  fill_row<F8E4M3>(row(Dtype::f8_e4m3));
  fill_row<F8E5M2>(row(Dtype::f8_e5m2));
  fill_boolean_row(row(Dtype::boolean));
  return table;
}

constexpr ReducerTable table = make_table();

}  // namespace

const ReducerTable& MUSTER_REDUCER_TABLE() noexcept { return table; }

}  // namespace muster::detail
