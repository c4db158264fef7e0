#pragma once

#include <cstddef>
#include <span>

#include "muster/dtype.hpp"
#include "muster/reduce_op.hpp"

namespace muster::detail {

/// Reduces elements of one dtype with one operation. Counts are elements; no alignment beyond that of the element.
struct Reducer {
  /// Bytes of one element on its way: wider than the element where it must not be rounded yet.
  std::size_t accumulator_size = 0;
  /// accumulator[i] = source[i]
  void (*load)(void* accumulator, const void* source, std::size_t count) = nullptr;
  /// accumulator[i] = op(accumulator[i], source[i])
  void (*add)(void* accumulator, const void* source, std::size_t count) = nullptr;
  /// destination[i] = what accumulator[i] stands for after `ranks` contributions
  void (*finish)(void* destination, const void* accumulator, std::size_t count, std::size_t ranks) = nullptr;
  /// destination[i] = op over the sources in their order. The destination may be one of the sources.
  void (*reduce)(void* destination, const void* const* sources, std::size_t sources_count, std::size_t count) = nullptr;
};

/// For this machine's instruction set. Requires supports(dtype, op).
const Reducer& reducer_for(Dtype dtype, ReduceOp op) noexcept;

}  // namespace muster::detail
