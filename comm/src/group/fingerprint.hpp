#pragma once

#include <cstdint>
#include <string>

#include "muster/dtype.hpp"
#include "muster/reduce_op.hpp"

namespace muster::detail {

enum class Operation : std::uint8_t {
  all_reduce,
  reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  gather,
  scatter,
  all_to_all,
  barrier,
};
std::string_view name(Operation operation) noexcept;

/// What every member must agree on about one collective. Plain bytes: it travels between processes.
struct Fingerprint {
  std::uint64_t bytes = 0;  ///< per member: the smaller of source and destination, that is, one block
  std::int32_t root = -1;   ///< -1 where there is none
  Operation operation = Operation::barrier;
  std::uint8_t dtype = no_dtype;
  std::uint8_t op = no_dtype;
  std::uint8_t source_failed = 0;  ///< this member takes part, but has nothing to give; not compared

  static constexpr std::uint8_t no_dtype = 0xff;

  [[nodiscard]] bool matches(const Fingerprint& other) const noexcept {
    return bytes == other.bytes && root == other.root && operation == other.operation && dtype == other.dtype &&
           op == other.op;
  }
};
static_assert(sizeof(Fingerprint) == 16);

/// `all_reduce of 16 bytes of f32, sum`
std::string describe(const Fingerprint& fingerprint);

}  // namespace muster::detail
