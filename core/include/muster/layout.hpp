#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "muster/bytes.hpp"
#include "muster/device.hpp"
#include "muster/handle.hpp"

namespace muster {

/// Elements from one index to the next in each dimension, row major.
std::vector<std::size_t> strides_of(std::span<const std::size_t> shape, std::size_t element_size, LayoutPolicy policy);

/// A tensor that a device laid out. Strides in elements.
struct MemoryLayout {
  Handle handle;
  std::vector<std::size_t> strides;
};

/// A tensor to be made: `shape` in elements, `element_size` in bytes.
struct TensorShape {
  std::vector<std::size_t> shape;
  std::size_t element_size = 1;
};
struct TensorData {
  Bytes bytes;  ///< contiguous, row major
  std::vector<std::size_t> shape;
  std::size_t element_size = 1;
};

/// A tensor to be read. Strides in elements.
struct TensorDescriptor {
  Handle handle;
  std::vector<std::size_t> shape;
  std::vector<std::size_t> strides;
  std::size_t element_size = 1;
};

/// A tensor as rows of bytes: `count` rows of `bytes`, each `pitch` bytes after the one before.
struct Rows {
  std::size_t count = 0;
  std::size_t bytes = 0;
  std::size_t pitch = 0;
  [[nodiscard]] bool contiguous() const noexcept { return count <= 1 || bytes == pitch; }
  /// Bytes without the gaps.
  [[nodiscard]] std::size_t packed_size() const noexcept { return count * bytes; }
  /// Bytes from the first to the last, gaps in between included.
  [[nodiscard]] std::size_t extent() const noexcept { return count == 0 || bytes == 0 ? 0 : (count - 1) * pitch + bytes; }
  static Rows packed(std::size_t size_bytes) noexcept { return {1, size_bytes, size_bytes}; }
};

/// The rows of a tensor where only the last dimension may be padded. Throws UsageError naming the strides that are not of
/// that form, sizes that differ in length, a product that overflows, or an element size of 0.
Rows rows_of(std::span<const std::size_t> shape, std::span<const std::size_t> strides, std::size_t element_size);

}  // namespace muster
