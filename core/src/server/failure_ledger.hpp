#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include "muster/error.hpp"

namespace muster::detail {

/// Which bytes of one allocation carry which failure. Safe from any thread; costs one load where nothing failed.
class FailureLedger {
 public:
  /// Bytes [begin, end) carry `failure` now, instead of what they carried.
  void taint(std::size_t begin, std::size_t end, Failure failure);
  /// Bytes [begin, end) were written in full.
  void clear(std::size_t begin, std::size_t end);
  /// The failures that any byte of [begin, end) carries, each once, by position.
  [[nodiscard]] std::vector<Failure> within(std::size_t begin, std::size_t end) const;
  /// The first of them, or null.
  [[nodiscard]] Failure first_within(std::size_t begin, std::size_t end) const;
  [[nodiscard]] bool empty() const noexcept { return !any_.load(std::memory_order_acquire); }

 private:
  struct Range {
    std::size_t begin, end;
    Failure failure;
  };
  void cut(std::size_t begin, std::size_t end);

  mutable std::mutex mutex_;
  std::vector<Range> ranges_;  // by begin, disjoint
  std::atomic<bool> any_{false};
};

/// Throws the failure, or Several; returns where there is none.
void raise_each_once(std::vector<Failure> failures);

}  // namespace muster::detail
