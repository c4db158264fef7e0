#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

namespace muster {

/// Owned host bytes, moved but not copied. The content of a new one is undefined.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::size_t size_bytes) : data_(new std::byte[size_bytes]), size_(size_bytes) {}

  /// A copy of the elements of `values`.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  static Bytes copy_of(std::span<const T> values) {
    Bytes bytes(values.size_bytes());
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), values.size_bytes());
    return bytes;
  }

  [[nodiscard]] std::byte* data() noexcept { return data_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return data_.get(); }
  /// Size in bytes.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// The bytes as elements of T; a rest that fills no element is left out.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::span<const T> as() const noexcept {
    return {reinterpret_cast<const T*>(data_.get()), size_ / sizeof(T)};
  }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::span<T> as() noexcept { return {reinterpret_cast<T*>(data_.get()), size_ / sizeof(T)}; }

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t size_ = 0;
};

}  // namespace muster
