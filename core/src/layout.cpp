#include "muster/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "muster/error.hpp"

namespace muster {

namespace {

constexpr std::size_t row_alignment = 16;  // bytes; what vector loads of every backend want

std::size_t product(std::size_t a, std::size_t b) {
  std::size_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    throw UsageError(fmt::format("a tensor of {} times {} bytes or elements does not fit an address space", a, b));
  }
  return result;
}

void require_element_size(std::size_t element_size) {
  if (element_size == 0) throw UsageError("the element size is 0 bytes; give the size of one element");
}

}  // namespace

std::vector<std::size_t> strides_of(std::span<const std::size_t> shape, std::size_t element_size, LayoutPolicy policy) {
  require_element_size(element_size);
  std::vector<std::size_t> strides(shape.size(), 1);
  if (shape.size() < 2) return strides;
  std::size_t row = shape.back();
  if (policy == LayoutPolicy::optimized) {
    const std::size_t step = std::lcm(element_size, row_alignment) / element_size;
    row = product((row + step - 1) / step, step);
  }
  strides[shape.size() - 2] = row;
  for (std::size_t i = shape.size() - 2; i-- > 0;) strides[i] = product(strides[i + 1], shape[i + 1]);
  return strides;
}

Rows rows_of(std::span<const std::size_t> shape, std::span<const std::size_t> strides, std::size_t element_size) {
  require_element_size(element_size);
  if (shape.size() != strides.size()) {
    throw UsageError(fmt::format("a tensor with {} dimensions was given {} strides", shape.size(), strides.size()));
  }
  if (shape.empty()) return Rows::packed(element_size);
  Rows rows{1, product(shape.back(), element_size), 0};
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows.count = product(rows.count, shape[i]);
  rows.pitch = shape.size() == 1 ? rows.bytes : product(strides[shape.size() - 2], element_size);
  if (rows.count == 0 || rows.bytes == 0) return {0, 0, 0};
  // A dimension of one element may have any stride: it is never taken.
  bool fits = shape.back() == 1 || strides.back() == 1;
  std::size_t expected = 0;
  for (std::size_t i = shape.size() - 1; i-- > 0;) {
    if (shape[i] == 1) continue;
    if (expected == 0) {
      rows.pitch = product(strides[i], element_size);
      fits = fits && strides[i] >= shape.back();
    } else {
      fits = fits && strides[i] == expected;
    }
    expected = product(strides[i], shape[i]);
  }
  if (!fits) {
    throw UsageError(
        fmt::format("shape {} with strides {} cannot be copied as rows: only the last dimension may be padded; make the "
                    "tensor contiguous first",
                    shape, strides));
  }
  static_cast<void>(product(rows.count, rows.pitch));
  return rows;
}

}  // namespace muster
