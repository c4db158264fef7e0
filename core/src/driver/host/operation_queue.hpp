#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "muster/device_work.hpp"

namespace muster::detail {

/// FIFO of operations with one producer and one consumer at a time, without locks: a list of blocks, and two counters.
class OperationQueue {
 public:
  OperationQueue() : write_block_(new Block), read_block_(write_block_) {}
  OperationQueue(const OperationQueue&) = delete;
  OperationQueue& operator=(const OperationQueue&) = delete;
  ~OperationQueue() {
    while (front()) pop();
    delete read_block_;
  }

  /// Appends, and returns the number of operations appended so far.
  std::uint64_t push(std::unique_ptr<StreamOperation> operation) {
    const std::uint64_t count = pushed_.load(std::memory_order_relaxed);
    write_block_->slots[count % block_size] = std::move(operation);
    if (count % block_size == block_size - 1) {
      write_block_->next = new Block;
      write_block_ = write_block_->next;
    }
    pushed_.store(count + 1, std::memory_order_seq_cst);
    return count + 1;
  }

  /// The oldest operation, or null. For the consumer.
  [[nodiscard]] StreamOperation* front() const noexcept {
    const std::uint64_t count = popped_.load(std::memory_order_relaxed);
    if (count == pushed_.load(std::memory_order_acquire)) return nullptr;
    return read_block_->slots[count % block_size].get();
  }
  /// Destroys the oldest operation, then counts it: what it held is free when others see the count.
  void pop() noexcept {
    const std::uint64_t count = popped_.load(std::memory_order_relaxed);
    read_block_->slots[count % block_size].reset();
    if (count % block_size == block_size - 1) delete std::exchange(read_block_, read_block_->next);
    popped_.store(count + 1, std::memory_order_seq_cst);
  }

  [[nodiscard]] std::uint64_t pushed() const noexcept { return pushed_.load(std::memory_order_seq_cst); }
  [[nodiscard]] std::uint64_t popped() const noexcept { return popped_.load(std::memory_order_seq_cst); }

  [[nodiscard]] const std::atomic<std::uint64_t>* popped_count() const noexcept { return &popped_; }

 private:
  static constexpr std::size_t block_size = 64;
  struct Block {
    std::array<std::unique_ptr<StreamOperation>, block_size> slots;
    Block* next = nullptr;  // set before the count that leads to it
  };
  Block* write_block_;
  Block* read_block_;
  alignas(64) std::atomic<std::uint64_t> pushed_{0};
  alignas(64) std::atomic<std::uint64_t> popped_{0};
};

}  // namespace muster::detail
