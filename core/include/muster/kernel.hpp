#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "muster/handle.hpp"

namespace muster {

/// Extent of a grid, or a point in it.
struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;
};

/// What becomes of launches issued to a stream.
enum class LaunchMode : std::uint8_t {
  run,
  compile_only,  ///< the kernel is queued for compilation, the launch is dropped
  discard,       ///< the launch is dropped
};

/// How a kernel uses a buffer. What it writes carries its failure.
enum class Access : std::uint8_t { read, write, read_write };

/// One argument of a launch: a buffer with its use, or a scalar.
struct Argument {
  struct Buffer {
    Handle handle;
    Access access;
  };
  std::variant<Buffer, std::int64_t, double> value;

  static Argument in(Handle handle) { return {Buffer{std::move(handle), Access::read}}; }
  static Argument out(Handle handle) { return {Buffer{std::move(handle), Access::write}}; }
  static Argument in_out(Handle handle) { return {Buffer{std::move(handle), Access::read_write}}; }
  static Argument scalar(std::int64_t number) { return {number}; }
  static Argument scalar(double number) { return {number}; }
};

/// What a host kernel sees: its point in the grid and its arguments. Valid during the call only.
class KernelContext {
 public:
  struct Slot {
    std::span<std::byte> memory;
    std::int64_t integer = 0;
    double real = 0;
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

 private:
  /// Throws UsageError where the launch gave fewer arguments.
  [[nodiscard]] const Slot& slot(std::size_t index) const;
  Dim3 point_, grid_;
  std::span<const Slot> slots_;
};

/// A C++ function that a host device runs once per point of a grid. An exception of it fails the launch.
/// It must not wait for its own device.
class Kernel {
 public:
  using Body = std::function<void(const KernelContext&)>;
  /// `name` stands in errors and profiles.
  Kernel(std::string name, Body body);

  [[nodiscard]] const std::string& name() const noexcept { return state_->name; }
  [[nodiscard]] const Body& body() const noexcept { return state_->body; }

 private:
  struct State {
    std::string name;
    Body body;
  };
  std::shared_ptr<const State> state_;
};

}  // namespace muster
