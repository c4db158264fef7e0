#include "support/reference.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace muster::test {

namespace {

/// A binary floating-point format, by its numbers.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  double largest;
  bool has_infinity, saturates;
};

Format format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return {5, 10, 15, 65504.0, true, false};
    case Dtype::bf16:
      return {8, 7, 127, std::ldexp(255.0, 120), true, false};
    case Dtype::f8_e4m3:
      return {4, 3, 7, 448.0, false, true};
    case Dtype::f8_e5m2:
      return {5, 2, 15, 57344.0, true, true};
    default:
      return {};
  }
}

bool is_signed(Dtype dtype) {
  return dtype == Dtype::i8 || dtype == Dtype::i16 || dtype == Dtype::i32 || dtype == Dtype::i64;
}

/// Cuts to the width of the dtype, with the sign spread over 64 bits where it is signed.
std::uint64_t wrap(Dtype dtype, std::uint64_t value) {
  const int unused = 64 - 8 * static_cast<int>(size_of(dtype));
  value <<= unused;
  return is_signed(dtype) ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >> unused) : value >> unused;
}

std::uint64_t mask(Dtype dtype, std::uint64_t value) {
  const std::size_t size = size_of(dtype);
  return size == 8 ? value : value & ((std::uint64_t{1} << (8 * size)) - 1);
}

std::uint64_t reduce_integers(Dtype dtype, ReduceOp op, std::span<const std::uint64_t> elements) {
  std::uint64_t result = wrap(dtype, elements[0]);
  for (std::size_t i = 1; i < elements.size(); ++i) {
    const std::uint64_t next = wrap(dtype, elements[i]);
    const bool less =
        is_signed(dtype) ? static_cast<std::int64_t>(next) < static_cast<std::int64_t>(result) : next < result;
    switch (op) {
      case ReduceOp::sum:
        result = wrap(dtype, result + next);
        break;
      case ReduceOp::average:
        result += next;
        break;  // in 64 bits
      case ReduceOp::product:
        result = wrap(dtype, result * next);
        break;
      case ReduceOp::min:
        result = less ? next : result;
        break;
      case ReduceOp::max:
        result = less ? result : next;
        break;
      case ReduceOp::bit_and:
        result &= next;
        break;
      case ReduceOp::bit_or:
        result |= next;
        break;
      case ReduceOp::bit_xor:
        result ^= next;
        break;
    }
  }
  if (op == ReduceOp::average) {
    result =
        is_signed(dtype)
            ? static_cast<std::uint64_t>(static_cast<std::int64_t>(result) / static_cast<std::int64_t>(elements.size()))
            : result / elements.size();
  }
  return mask(dtype, result);
}

std::uint64_t reduce_booleans(ReduceOp op, std::span<const std::uint64_t> elements) {
  bool result = elements[0] != 0;
  for (std::size_t i = 1; i < elements.size(); ++i) {
    const bool next = elements[i] != 0;
    const bool all = op == ReduceOp::product || op == ReduceOp::min || op == ReduceOp::bit_and;
    result = op == ReduceOp::bit_xor ? result != next : (all ? result && next : result || next);
  }
  return result ? 1 : 0;
}

template <class T>
T reduce_floats(ReduceOp op, const std::vector<T>& values) {
  T result = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) {
    const T next = values[i];
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::average:
        result = result + next;
        break;
      case ReduceOp::product:
        result = result * next;
        break;
      case ReduceOp::min:
        result = std::isnan(result) || std::isnan(next) ? std::numeric_limits<T>::quiet_NaN() : std::min(result, next);
        break;
      case ReduceOp::max:
        result = std::isnan(result) || std::isnan(next) ? std::numeric_limits<T>::quiet_NaN() : std::max(result, next);
        break;
      default:
        break;
    }
  }
  return op == ReduceOp::average ? result / static_cast<T>(values.size()) : result;
}

}  // namespace

namespace {

/// The values of all bits of a small float, worked out once.
const std::vector<float>& values_of(Dtype dtype) {
  static std::array<std::vector<float>, all_dtypes.size()> tables;
  auto& table = tables[static_cast<std::size_t>(dtype)];
  if (table.empty()) {
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << (8 * size_of(dtype)); ++bits) {
      table.push_back(static_cast<float>(decode_float(dtype, bits)));
    }
  }
  return table;
}

/// The input of a rank, worked out once per dtype and rank, as long as it was needed so far.
const std::vector<std::byte>& cached_input(Dtype dtype, int rank, std::size_t count) {
  static std::map<std::pair<Dtype, int>, std::vector<std::byte>> inputs;
  auto& bytes = inputs[{dtype, rank}];
  const std::size_t size = size_of(dtype);
  for (std::size_t i = bytes.size() / size; i < count; ++i) {
    const std::uint64_t bits = input_bits(dtype, rank, i);
    bytes.insert(bytes.end(), reinterpret_cast<const std::byte*>(&bits), reinterpret_cast<const std::byte*>(&bits) + size);
  }
  return bytes;
}

}  // namespace

double decode_float(Dtype dtype, std::uint64_t bits) {
  const Format format = format_of(dtype);
  const int width = 1 + format.exponent_bits + format.mantissa_bits;
  const bool negative = (bits >> (width - 1)) & 1U;
  const auto exponent = static_cast<int>((bits >> format.mantissa_bits) & ((1U << format.exponent_bits) - 1U));
  const auto mantissa = static_cast<double>(bits & ((std::uint64_t{1} << format.mantissa_bits) - 1U));
  const int top = (1 << format.exponent_bits) - 1;
  double value = 0;
  if (exponent == top && format.has_infinity) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - format.bias - format.mantissa_bits);
  } else {
    value = std::ldexp(mantissa + std::ldexp(1.0, format.mantissa_bits), exponent - format.bias - format.mantissa_bits);
  }
  if (!format.has_infinity && value > format.largest) value = std::numeric_limits<double>::quiet_NaN();
  return negative ? -value : value;
}

std::uint64_t encode_float(Dtype dtype, double value) {
  const Format format = format_of(dtype);
  const int width = 1 + format.exponent_bits + format.mantissa_bits;
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (width - 1) : 0;
  const int top = (1 << format.exponent_bits) - 1;
  const std::uint64_t infinity = static_cast<std::uint64_t>(top) << format.mantissa_bits;
  const std::uint64_t largest_bits = format.has_infinity ? infinity - 1 : infinity + 6;
  if (std::isnan(value)) {
    return format.has_infinity ? infinity | (std::uint64_t{1} << (format.mantissa_bits - 1)) | sign : 0x7fU | sign;
  }
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  // The distance between neighbours at this magnitude, never below that of the denormals.
  const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  const double rounded =
      std::ldexp(std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent)), exponent - format.mantissa_bits);
  if (rounded > format.largest) return (format.saturates ? largest_bits : infinity) | sign;
  if (rounded < std::ldexp(1.0, 1 - format.bias)) {
    return static_cast<std::uint64_t>(std::ldexp(rounded, format.bias - 1 + format.mantissa_bits)) | sign;
  }
  const int final_exponent = std::ilogb(rounded);
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(rounded, format.mantissa_bits - final_exponent)) -
                        (std::uint64_t{1} << format.mantissa_bits);
  return (static_cast<std::uint64_t>(final_exponent + format.bias) << format.mantissa_bits) | mantissa | sign;
}

std::uint64_t Reference::reduce(std::span<const std::uint64_t> elements) const {
  if (dtype_ == Dtype::boolean) return reduce_booleans(op_, elements);
  if (!is_float(dtype_)) return reduce_integers(dtype_, op_, elements);
  if (dtype_ == Dtype::f64) {
    static thread_local std::vector<double> values;
    values.clear();
    for (const auto bits : elements) values.push_back(std::bit_cast<double>(bits));
    return std::bit_cast<std::uint64_t>(reduce_floats(op_, values));
  }
  static thread_local std::vector<float> values;
  values.clear();
  for (const auto bits : elements) {
    values.push_back(dtype_ == Dtype::f32 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                                          : values_of(dtype_)[bits]);
  }
  const float result = reduce_floats(op_, values);
  return dtype_ == Dtype::f32 ? std::bit_cast<std::uint32_t>(result) : encode_float(dtype_, result);
}

std::uint64_t input_bits(Dtype dtype, int rank, std::size_t index) {
  // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
  std::uint64_t word = (static_cast<std::uint64_t>(rank) << 40U) + index * 0x9e3779b97f4a7c15U + 1;
  word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
  word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
  word ^= word >> 31U;
  if (dtype == Dtype::boolean) return word & 1U;
  if (!is_float(dtype)) return mask(dtype, word);
  const double value = static_cast<double>(static_cast<std::int64_t>(word % 4001) - 2000) / 1024.0;
  if (dtype == Dtype::f64) return std::bit_cast<std::uint64_t>(value);
  if (dtype == Dtype::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value * 1.0000001));
  return encode_float(dtype, value);
}

std::vector<std::byte> input_bytes(Dtype dtype, int rank, std::size_t first, std::size_t count) {
  const auto& all = cached_input(dtype, rank, first + count);
  const auto size = static_cast<std::ptrdiff_t>(size_of(dtype));
  return {all.begin() + static_cast<std::ptrdiff_t>(first) * size,
          all.begin() + static_cast<std::ptrdiff_t>(first + count) * size};
}

std::uint64_t bits_at(Dtype dtype, std::span<const std::byte> bytes, std::size_t index) {
  const std::size_t size = size_of(dtype);
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * size, size);
  return bits;
}

}  // namespace muster::test
