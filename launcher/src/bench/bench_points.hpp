#pragma once

#include <muster/client_group.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace muster::launcher {

/// The operations that can be measured.
enum class Measured : std::uint8_t { all_reduce, reduce, all_gather, reduce_scatter, broadcast, all_to_all };
Measured measured_of(const std::string& name);

/// One size of one operation: buffers of every member, what goes in, and what must come out. `bytes` is, as in
/// nccl-tests, the larger of the two buffers.
class BenchPoint {
 public:
  BenchPoint(Measured operation, Dtype dtype, ReduceOp op, std::size_t bytes, int members);

  [[nodiscard]] std::size_t source_bytes() const noexcept;
  [[nodiscard]] std::size_t destination_bytes() const noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return block_ * (spread_ ? members_ : 1); }
  /// Elements of the larger buffer.
  [[nodiscard]] std::size_t count() const noexcept { return bytes() / size_of(dtype_); }
  [[nodiscard]] Measured operation() const noexcept { return operation_; }
  [[nodiscard]] Dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] ReduceOp op() const noexcept { return op_; }
  [[nodiscard]] static constexpr int root() noexcept { return 0; }

  /// Fills a source of `member`; `turn` makes every filling another.
  void fill(std::span<std::byte> source, int member, unsigned turn) const;
  /// Elements of a result of `member` that are not what they must be.
  [[nodiscard]] std::size_t wrong(std::span<const std::byte> destination, int member, unsigned turn) const;
  /// Bus bandwidth over algorithm bandwidth: the share of each byte that must cross a link.
  [[nodiscard]] double bus_factor() const noexcept;

 private:
  [[nodiscard]] std::uint64_t expected_bits(std::size_t index, int member, unsigned turn) const;
  Measured operation_;
  Dtype dtype_;
  ReduceOp op_;
  std::size_t members_;
  bool spread_;        ///< one buffer holds a block per member
  std::size_t block_;  ///< bytes
};

/// The sizes from `min` to `max`, each twice the one before.
std::vector<std::size_t> sizes_between(std::size_t min, std::size_t max);

}  // namespace muster::launcher
