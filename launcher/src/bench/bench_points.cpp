#include "bench/bench_points.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <stdexcept>

namespace muster::launcher {

namespace {

/// Small whole numbers, which every dtype holds without rounding, sums over 16 ranks included.
unsigned input_value(std::size_t index, int member, unsigned turn) {
  return static_cast<unsigned>((index + index / 1021 + static_cast<unsigned>(member) * 3 + turn) % 2);
}

/// The bits of a small whole number: exponent and mantissa put together by hand for the narrow floats.
std::uint64_t bits_of_number(Dtype dtype, double value) {
  const auto narrow = [&](int mantissa_bits, int bias) -> std::uint64_t {
    if (value == 0) return 0;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto exponent = static_cast<int>((bits >> 52U) & 0x7ffU) - 1023;
    return (static_cast<std::uint64_t>(exponent + bias) << mantissa_bits) |
           ((bits & 0xfffffffffffffU) >> (52 - mantissa_bits));
  };
  switch (dtype) {
    case Dtype::f64:
      return std::bit_cast<std::uint64_t>(value);
    case Dtype::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case Dtype::f16:
      return narrow(10, 15);
    case Dtype::bf16:
      return narrow(7, 127);
    case Dtype::f8_e4m3:
      return narrow(3, 7);
    case Dtype::f8_e5m2:
      return narrow(2, 15);
    default:
      return static_cast<std::uint64_t>(value);
  }
}

double reduce_values(ReduceOp op, Dtype dtype, std::size_t index, int members, unsigned turn) {
  double result = input_value(index, 0, turn);
  for (int member = 1; member < members; ++member) {
    const double next = input_value(index, member, turn);
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::average:
        result += next;
        break;
      case ReduceOp::product:
        result *= next;
        break;
      case ReduceOp::min:
      case ReduceOp::bit_and:
        result = std::min(result, next);
        break;
      case ReduceOp::max:
      case ReduceOp::bit_or:
        result = std::max(result, next);
        break;
      case ReduceOp::bit_xor:
        result = static_cast<double>(static_cast<unsigned>(result) ^ static_cast<unsigned>(next));
        break;
    }
  }
  if (dtype == Dtype::boolean && result > 1) result = 1;
  if (op == ReduceOp::average) {
    result = dtype == Dtype::f64 ? result / members
                                 : static_cast<double>(static_cast<float>(result) / static_cast<float>(members));
  }
  return result;
}

}  // namespace

Measured measured_of(const std::string& name) {
  if (name == "all_reduce") return Measured::all_reduce;
  if (name == "reduce") return Measured::reduce;
  if (name == "all_gather") return Measured::all_gather;
  if (name == "reduce_scatter") return Measured::reduce_scatter;
  if (name == "broadcast") return Measured::broadcast;
  if (name == "all_to_all") return Measured::all_to_all;
  throw std::invalid_argument(fmt::format("'{}' cannot be measured", name));
}

BenchPoint::BenchPoint(Measured operation, Dtype dtype, ReduceOp op, std::size_t bytes, int members)
    : operation_(operation),
      dtype_(dtype),
      op_(op),
      members_(static_cast<std::size_t>(members)),
      spread_(operation == Measured::all_gather || operation == Measured::reduce_scatter ||
              operation == Measured::all_to_all) {
  const std::size_t element = size_of(dtype);
  block_ = (spread_ ? bytes / members_ : bytes) / element * element;
}

std::size_t BenchPoint::source_bytes() const noexcept {
  return operation_ == Measured::reduce_scatter || operation_ == Measured::all_to_all ? block_ * members_ : block_;
}

std::size_t BenchPoint::destination_bytes() const noexcept {
  return operation_ == Measured::all_gather || operation_ == Measured::all_to_all ? block_ * members_ : block_;
}

void BenchPoint::fill(std::span<std::byte> source, int member, unsigned turn) const {
  const std::size_t element = size_of(dtype_);
  const std::uint64_t zero = bits_of_number(dtype_, 0), one = bits_of_number(dtype_, 1);
  for (std::size_t i = 0; i < source.size() / element; ++i) {
    std::memcpy(source.data() + i * element, input_value(i, member, turn) != 0 ? &one : &zero, element);
  }
}

std::uint64_t BenchPoint::expected_bits(std::size_t index, int member, unsigned turn) const {
  const std::size_t block = block_ / size_of(dtype_);
  const auto me = static_cast<std::size_t>(member);
  const int members = static_cast<int>(members_);
  switch (operation_) {
    case Measured::all_reduce:
    case Measured::reduce:
      return bits_of_number(dtype_, reduce_values(op_, dtype_, index, members, turn));
    case Measured::reduce_scatter:
      return bits_of_number(dtype_, reduce_values(op_, dtype_, me * block + index, members, turn));
    case Measured::all_gather:
      return bits_of_number(dtype_, input_value(index % block, static_cast<int>(index / block), turn));
    case Measured::broadcast:
      return bits_of_number(dtype_, input_value(index, root(), turn));
    case Measured::all_to_all:
      return bits_of_number(dtype_, input_value(me * block + index % block, static_cast<int>(index / block), turn));
  }
  return 0;
}

std::size_t BenchPoint::wrong(std::span<const std::byte> destination, int member, unsigned turn) const {
  if (operation_ == Measured::reduce && member != root()) return 0;
  const std::size_t element = size_of(dtype_);
  std::size_t errors = 0;
  for (std::size_t i = 0; i < destination.size() / element; ++i) {
    const std::uint64_t expected = expected_bits(i, member, turn);
    errors += std::memcmp(destination.data() + i * element, &expected, element) != 0 ? 1 : 0;
  }
  return errors;
}

double BenchPoint::bus_factor() const noexcept {
  const auto n = static_cast<double>(members_);
  switch (operation_) {
    case Measured::all_reduce:
      return 2 * (n - 1) / n;
    case Measured::all_gather:
    case Measured::reduce_scatter:
    case Measured::all_to_all:
      return (n - 1) / n;
    case Measured::reduce:
    case Measured::broadcast:
      return 1;
  }
  return 1;
}

std::vector<std::size_t> sizes_between(std::size_t min, std::size_t max) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = std::max<std::size_t>(min, 1); size <= max; size *= 2) {
    sizes.push_back(size);
    if (size > max / 2) break;
  }
  return sizes;
}

}  // namespace muster::launcher
