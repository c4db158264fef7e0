#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <type_traits>

namespace muster {

/// Where host bytes are.
enum class BytesKind : std::uint8_t {
  owned,   ///< in memory of their own
  pinned,  ///< in locked memory, from which devices copy faster
  file,    ///< in a file that is mapped
  device,  ///< in memory of a device, by a lazy read
};

/// Memory behind Bytes that is not their own. Its content never changes while it lives.
class BytesSource {
 public:
  virtual ~BytesSource() = default;
  [[nodiscard]] virtual BytesKind kind() const noexcept = 0;
  /// Whether data() returns at once.
  [[nodiscard]] virtual bool ready() const noexcept { return true; }
  /// May block, and throw what keeps the bytes from being read.
  [[nodiscard]] virtual const std::byte* data() = 0;
  /// The memory itself where it may be written, else null: then the bytes are copied before they change.
  [[nodiscard]] virtual std::byte* writable() { return nullptr; }
};

/// Host bytes, moved but not copied. The content of new ones is undefined.
///
/// Those of a lazy read are fetched at the first access, which may block and throw the failure that the buffer carries,
/// as Client::read does. One thread at a time uses an object.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::size_t size_bytes) : data_(new std::byte[size_bytes]), size_(size_bytes) {}
  Bytes(std::unique_ptr<BytesSource> source, std::size_t size_bytes) : source_(std::move(source)), size_(size_bytes) {}

  /// A copy of the elements of `values`.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  static Bytes copy_of(std::span<const T> values) {
    Bytes bytes(values.size_bytes());
    if (!values.empty()) std::memcpy(bytes.data_.get(), values.data(), values.size_bytes());
    return bytes;
  }
  /// Bytes [offset, offset + size) of a file, mapped and not read yet. Throws UsageError naming the file where it cannot
  /// be opened or is shorter.
  static Bytes of_file(const std::filesystem::path& path, std::size_t offset_bytes, std::size_t size_bytes);

  [[nodiscard]] BytesKind kind() const noexcept { return source_ ? source_->kind() : BytesKind::owned; }
  /// Whether an access returns at once.
  [[nodiscard]] bool ready() const noexcept { return !source_ || source_->ready(); }

  /// For a change: bytes of a file or of a device become owned ones first.
  [[nodiscard]] std::byte* data() {
    if (!source_) return data_.get();
    if (std::byte* memory = source_->writable()) return memory;
    own();
    return data_.get();
  }
  [[nodiscard]] const std::byte* data() const { return source_ ? source_->data() : data_.get(); }
  /// Size in bytes. Never blocks.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// The bytes as elements of T; a rest that fills no element is left out.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::span<const T> as() const { return {reinterpret_cast<const T*>(data()), size_ / sizeof(T)}; }
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] std::span<T> as() { return {reinterpret_cast<T*>(data()), size_ / sizeof(T)}; }

 private:
  void own();

  std::unique_ptr<std::byte[]> data_;
  std::unique_ptr<BytesSource> source_;
  std::size_t size_ = 0;
};

}  // namespace muster
