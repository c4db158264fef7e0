#include "muster/dtype.hpp"

namespace muster {

std::size_t size_of(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::i8:
    case Dtype::u8:
    case Dtype::f8_e4m3:
    case Dtype::f8_e5m2:
    case Dtype::boolean:
      return 1;
    case Dtype::i16:
    case Dtype::u16:
    case Dtype::f16:
    case Dtype::bf16:
      return 2;
    case Dtype::i32:
    case Dtype::u32:
    case Dtype::f32:
      return 4;
    case Dtype::i64:
    case Dtype::u64:
    case Dtype::f64:
      return 8;
  }
  return 0;
}

std::string_view name(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::i8:
      return "i8";
    case Dtype::u8:
      return "u8";
    case Dtype::i16:
      return "i16";
    case Dtype::u16:
      return "u16";
    case Dtype::i32:
      return "i32";
    case Dtype::u32:
      return "u32";
    case Dtype::i64:
      return "i64";
    case Dtype::u64:
      return "u64";
    case Dtype::f16:
      return "f16";
    case Dtype::bf16:
      return "bf16";
    case Dtype::f32:
      return "f32";
    case Dtype::f64:
      return "f64";
    case Dtype::f8_e4m3:
      return "f8_e4m3";
    case Dtype::f8_e5m2:
      return "f8_e5m2";
    case Dtype::boolean:
      return "bool";
  }
  return "unknown";
}

std::optional<Dtype> dtype_of(std::string_view wanted) noexcept {
  for (const Dtype dtype : all_dtypes) {
    if (name(dtype) == wanted) return dtype;
  }
  return std::nullopt;
}

bool is_float(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::f32:
    case Dtype::f64:
    case Dtype::f8_e4m3:
    case Dtype::f8_e5m2:
      return true;
    case Dtype::i8:
    case Dtype::u8:
    case Dtype::i16:
    case Dtype::u16:
    case Dtype::i32:
    case Dtype::u32:
    case Dtype::i64:
    case Dtype::u64:
    case Dtype::boolean:
      return false;
  }
  return false;
}

}  // namespace muster
