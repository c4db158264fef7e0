#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace muster {

/// Element types. f8_e4m3 has no infinity (OCP FP8 'fn'); boolean is one byte, 0 or 1.
enum class Dtype : std::uint8_t {
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f16,
  bf16,
  f32,
  f64,
  f8_e4m3,
  f8_e5m2,
  boolean,
};

inline constexpr std::array all_dtypes{
    Dtype::i8,  Dtype::u8,   Dtype::i16, Dtype::u16, Dtype::i32,     Dtype::u32,     Dtype::i64,     Dtype::u64,
    Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64, Dtype::f8_e4m3, Dtype::f8_e5m2, Dtype::boolean,
};

/// Bytes of one element.
std::size_t size_of(Dtype dtype) noexcept;
std::string_view name(Dtype dtype) noexcept;
/// The dtype of that name (`f32`, `bf16`, `f8_e4m3`, `bool`, …), or nothing.
std::optional<Dtype> dtype_of(std::string_view name) noexcept;
/// Whether it is a floating-point type, of any width.
bool is_float(Dtype dtype) noexcept;

}  // namespace muster
