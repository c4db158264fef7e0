#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "muster/handle.hpp"
#include "muster/peer_handle.hpp"

namespace muster {

struct TargetProperties;
struct KernelDefinition;

/// Extent of a grid, or a point in it.
struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
  [[nodiscard]] constexpr std::uint64_t product() const noexcept { return std::uint64_t{x} * y * z; }
};

/// How many points, or blocks, a launch has: known at the call, or read from a buffer when the launch runs.
class Count {
 public:
  Count(Dim3 count) : value_(count) {}  // NOLINT(google-explicit-constructor): a count is written as {x, y, z}
  Count(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1) : value_(Dim3{x, y, z}) {}
  Count() : value_(Dim3{}) {}
  /// Three u32, x first, as earlier work of the stream leaves them. Throws UsageError unless the handle has 12 bytes.
  static Count dynamic(Handle handle);

  [[nodiscard]] const Dim3* fixed() const noexcept { return std::get_if<Dim3>(&value_); }
  [[nodiscard]] const Handle* buffer() const noexcept { return std::get_if<Handle>(&value_); }

 private:
  explicit Count(Handle handle) : value_(std::move(handle)) {}
  std::variant<Dim3, Handle> value_;
};

/// What becomes of launches issued to a stream.
enum class LaunchMode : std::uint8_t {
  run,
  compile_only,  ///< the kernel is queued for compilation, the launch is dropped
  discard,       ///< the launch is dropped
};

/// How a kernel uses a buffer. What it writes carries its failure.
enum class Access : std::uint8_t { read, write, read_write };

/// One argument of a launch: a buffer or a peer's buffer with its use, a scalar, or metadata (shapes, strides).
struct Argument {
  struct Buffer {
    Handle handle;
    Access access;
  };
  struct Peer {
    PeerHandle handle;
    Access access;
  };
  using Metadata = std::vector<std::uint64_t>;
  std::variant<Buffer, std::int64_t, double, Metadata, Peer> value;

  static Argument in(Handle handle) { return {Buffer{std::move(handle), Access::read}}; }
  static Argument out(Handle handle) { return {Buffer{std::move(handle), Access::write}}; }
  static Argument in_out(Handle handle) { return {Buffer{std::move(handle), Access::read_write}}; }
  static Argument scalar(std::int64_t number) { return {number}; }
  static Argument scalar(double number) { return {number}; }
  static Argument metadata(Metadata words) { return {std::move(words)}; }
  /// Memory that another device, or this one, shares with its peers. Nothing orders the accesses.
  static Argument peer(PeerHandle handle, Access access = Access::read_write) { return {Peer{std::move(handle), access}}; }
};

/// What a host kernel sees: its point in the grid and its arguments. Valid during the call only.
class KernelContext {
 public:
  struct Slot {
    std::span<std::byte> memory;
    std::int64_t integer = 0;
    double real = 0;
    std::span<const std::uint64_t> words;
  };
  KernelContext(Dim3 point, Dim3 grid, std::span<const Slot> slots) : point_(point), grid_(grid), slots_(slots) {}

  [[nodiscard]] Dim3 point() const noexcept { return point_; }
  [[nodiscard]] Dim3 grid() const noexcept { return grid_; }
  /// The buffer at position `index` of the arguments, as elements of T.
  template <class T>
  [[nodiscard]] std::span<T> buffer(std::size_t index) const {
    const auto memory = slot(index).memory;
    return {reinterpret_cast<T*>(memory.data()), memory.size() / sizeof(T)};
  }
  [[nodiscard]] std::int64_t integer(std::size_t index) const { return slot(index).integer; }
  [[nodiscard]] double real(std::size_t index) const { return slot(index).real; }
  [[nodiscard]] std::span<const std::uint64_t> metadata(std::size_t index) const { return slot(index).words; }

 private:
  /// Throws UsageError where the launch gave fewer arguments.
  [[nodiscard]] const Slot& slot(std::size_t index) const;
  Dim3 point_, grid_;
  std::span<const Slot> slots_;
};

/// Names code: two kernels with one id are the same, and compiled once per device.
struct KernelId {
  std::string name;     ///< stands in errors and profiles
  std::string variant;  ///< whatever else the code depends on: types, sizes, options
  friend auto operator<=>(const KernelId&, const KernelId&) = default;
};

/// Code that a device runs over a grid. Cheap to copy. An exception of it fails the launch; it must not wait for its own
/// device. Points of one grid run in any order, and at the same time on several cores.
class Kernel {
 public:
  /// Called once per point of the grid.
  using Body = std::function<void(const KernelContext&)>;
  /// Makes the body for a device, once for each id. What it throws is a CompileFailed of every launch of this id.
  using Compile = std::function<Body(const TargetProperties&)>;

  /// A C++ function, which needs no compilation.
  Kernel(std::string name, Body body);
  Kernel(KernelId id, Compile compile);
  /// A kernel of a `.kernel.hpp` file, run by blocks of `block` threads. See kernel_language.hpp. Throws UsageError for a
  /// block of more threads than 1024, or none.
  Kernel(const KernelDefinition& definition, Dim3 block);

  [[nodiscard]] const KernelId& id() const noexcept { return state_->id; }
  [[nodiscard]] const std::string& name() const noexcept { return state_->id.name; }

  struct State {
    KernelId id;
    Body body;                                     // or
    Compile compile;                               // or
    const KernelDefinition* definition = nullptr;  // with
    Dim3 block;
  };
  [[nodiscard]] const State& state() const noexcept { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace muster
