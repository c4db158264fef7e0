#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "muster/dtype.hpp"

namespace muster {

/// How the elements of all ranks become one, always in the order of the ranks.
///
/// 16- and 8-bit floats accumulate in float32 and are rounded once; results beyond the range of an 8-bit float become its
/// largest finite value. `average` of floats is the sum divided once by the number of ranks; of integers it is the sum
/// in 64 bits, divided towards zero. Integers wrap. `min` and `max` of floats give NaN where any rank has NaN. For
/// booleans sum, max and bit_or are 'any', product, min and bit_and are 'all'.
enum class ReduceOp : std::uint8_t { sum, product, min, max, average, bit_and, bit_or, bit_xor };

inline constexpr std::array all_reduce_ops{ReduceOp::sum,     ReduceOp::product, ReduceOp::min,    ReduceOp::max,
                                           ReduceOp::average, ReduceOp::bit_and, ReduceOp::bit_or, ReduceOp::bit_xor};

std::string_view name(ReduceOp op) noexcept;
std::optional<ReduceOp> reduce_op_of(std::string_view name) noexcept;
/// Bit operations are for integers and booleans; booleans have no average.
bool supports(Dtype dtype, ReduceOp op) noexcept;

}  // namespace muster
