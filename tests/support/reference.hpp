#pragma once

#include <muster/dtype.hpp>
#include <muster/reduce_op.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace muster::test {

/// A serial model of the reductions, written for clarity and apart from the library: elements are decoded by the
/// definition of their format, reduced one by one in the order of the ranks, and encoded by rounding to nearest even.
class Reference {
 public:
  Reference(Dtype dtype, ReduceOp op) : dtype_(dtype), op_(op) {}

  /// The bits of the result for the bits of each rank's element.
  [[nodiscard]] std::uint64_t reduce(std::span<const std::uint64_t> elements) const;

 private:
  Dtype dtype_;
  ReduceOp op_;
};

/// The value of a small float's bits, and the nearest bits for a value: saturating for 8-bit floats.
double decode_float(Dtype dtype, std::uint64_t bits);
std::uint64_t encode_float(Dtype dtype, double value);

/// The bits of element `index` of the input of `rank`: varied, repeatable, of moderate size, so that sums stay finite.
std::uint64_t input_bits(Dtype dtype, int rank, std::size_t index);
/// `count` such elements from `first` on, as memory.
std::vector<std::byte> input_bytes(Dtype dtype, int rank, std::size_t first, std::size_t count);
/// The bits of the element at `index` of memory.
std::uint64_t bits_at(Dtype dtype, std::span<const std::byte> bytes, std::size_t index);

}  // namespace muster::test
