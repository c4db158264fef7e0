#pragma once

// Conversions between stored elements and the type that they are accumulated in.

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace muster::detail {
namespace {  // compiled once per instruction set: nothing here may be shared between them

inline float float_of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// IEEE 754 binary16. Rounds to nearest even.
struct F16 {
  std::uint16_t bits;
  static float load(F16 stored) {
    const std::uint32_t sign = static_cast<std::uint32_t>(stored.bits & 0x8000U) << 16U;
    const std::uint32_t rest = stored.bits & 0x7fffU;
    // Scaling by 2^112 turns the exponent of binary16 into that of binary32, denormals included.
    const float scaled = float_of_bits(rest << 13U) * float_of_bits(0x77800000U);
    const std::uint32_t special = (rest << 13U) | 0x7f800000U;
    return float_of_bits((rest >= 0x7c00U ? special : bits_of(scaled)) | sign);
  }
  static F16 store(float value) {
    const std::uint32_t all = bits_of(value);
    const std::uint32_t sign = (all >> 16U) & 0x8000U;
    const std::uint32_t magnitude = all & 0x7fffffffU;
    const std::uint32_t normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13U) & 1U)) >> 13U;
    // Adding 0.5 shifts a denormal's bits into place, with the rounding of the adder.
    const std::uint32_t denormal = bits_of(float_of_bits(magnitude) + 0.5F) - bits_of(0.5F);
    std::uint32_t rest = magnitude < 0x38800000U ? denormal : normal;
    rest = magnitude >= 0x477ff000U ? 0x7c00U : rest;
    rest = magnitude > 0x7f800000U ? 0x7e00U : rest;
    return {static_cast<std::uint16_t>(rest | sign)};
  }
};

/// The upper half of binary32. Rounds to nearest even.
struct BF16 {
  std::uint16_t bits;
  static float load(BF16 stored) { return float_of_bits(static_cast<std::uint32_t>(stored.bits) << 16U); }
  static BF16 store(float value) {
    const std::uint32_t all = bits_of(value);
    const std::uint32_t rounded = (all + 0x7fffU + ((all >> 16U) & 1U)) >> 16U;
    const bool nan = (all & 0x7fffffffU) > 0x7f800000U;
    return {static_cast<std::uint16_t>(nan ? ((all >> 16U) | 0x40U) : rounded)};
  }
};

/// 8-bit floats of the OCP specification (OFP8, 2023), stored saturating: too large a value becomes the largest finite.
template <int mantissa_bits, int bias, std::uint8_t largest, bool has_infinity>
struct F8 {
  std::uint8_t bits;
  static float load(F8 stored) {
    const std::uint32_t sign = static_cast<std::uint32_t>(stored.bits & 0x80U) << 24U;
    const std::uint32_t rest = stored.bits & 0x7fU;
    constexpr std::uint32_t scale = static_cast<std::uint32_t>(127 + 127 - bias) << 23U;
    const float scaled = float_of_bits(rest << (23 - mantissa_bits)) * float_of_bits(scale);
    std::uint32_t value = bits_of(scaled);
    if constexpr (has_infinity) {
      constexpr std::uint32_t infinity = largest + 1U;
      value = rest == infinity ? 0x7f800000U : value;
      value = rest > infinity ? 0x7fc00000U : value;
    } else {
      value = rest > largest ? 0x7fc00000U : value;
    }
    return float_of_bits(value | sign);
  }
  static F8 store(float value) {
    const std::uint32_t all = bits_of(value);
    const std::uint32_t sign = (all >> 24U) & 0x80U;
    const std::uint32_t magnitude = all & 0x7fffffffU;
    constexpr int shift = 23 - mantissa_bits;
    constexpr std::uint32_t rebias = static_cast<std::uint32_t>(127 - bias) << 23U;
    constexpr std::uint32_t half = (1U << (shift - 1)) - 1U;
    const std::uint32_t normal = (magnitude - rebias + half + ((magnitude >> shift) & 1U)) >> shift;
    // The adder's last bit stands for the smallest denormal of the target.
    constexpr std::uint32_t anchor = static_cast<std::uint32_t>(127 + (1 - bias) + 23 - mantissa_bits) << 23U;
    const std::uint32_t denormal = bits_of(float_of_bits(magnitude) + float_of_bits(anchor)) - anchor;
    std::uint32_t rest = magnitude < rebias + (1U << 23U) ? denormal : normal;
    rest = rest > largest ? largest : rest;
    rest = magnitude > 0x7f800000U ? 0x7fU : rest;
    return {static_cast<std::uint8_t>(rest | sign)};
  }
};
using F8E4M3 = F8<3, 7, 0x7e, false>;
using F8E5M2 = F8<2, 15, 0x7b, true>;

/// One byte, zero or not.
struct Boolean {
  std::uint8_t bits;
};

/// How elements of type T are loaded and stored, and what they accumulate in.
template <class T>
struct Element {
  using Accumulator = T;
  static T load(T stored) { return stored; }
  static T store(T value) { return value; }
};
template <class T>
struct SmallFloat {
  using Accumulator = float;
  static float load(T stored) { return T::load(stored); }
  static T store(float value) { return T::store(value); }
};
template <>
struct Element<F16> : SmallFloat<F16> {};
template <>
struct Element<BF16> : SmallFloat<BF16> {};
template <>
struct Element<F8E4M3> : SmallFloat<F8E4M3> {};
template <>
struct Element<F8E5M2> : SmallFloat<F8E5M2> {};
template <>
struct Element<Boolean> {
  using Accumulator = std::uint8_t;
  static std::uint8_t load(Boolean stored) { return stored.bits != 0 ? 1 : 0; }
  static Boolean store(std::uint8_t value) { return {value}; }
};

}  // namespace
}  // namespace muster::detail
