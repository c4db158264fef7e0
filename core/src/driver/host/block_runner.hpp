#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <vector>

#include "driver/host/fiber.hpp"
#include "muster/kernel_language_host.hpp"

namespace muster::detail {

/// Runs the threads of one block after the other, on one OS thread. As long as none of them stops at a barrier, all run on
/// one fiber, which costs nothing; one that stops keeps the fiber, and the next ones get another.
class BlockRunner {
 public:
  BlockRunner(Dim3 grid, Dim3 block);
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  /// The block at this linear index of the grid, x fastest.
  void run_block(const KernelDefinition& definition, std::span<const KernelContext::Slot> slots, std::uint64_t index);

  // For the kernel language, inside a thread of the block:
  void run_threads(void (*thread)(void*), void* arguments);
  void sync();
  /// Lets the other threads of the block run.
  void yield();
  void* shared_memory(const void* place, std::size_t size, std::size_t alignment);

 private:
  enum class State : std::uint8_t { running, at_barrier, yielded, finished };
  struct Runner {
    BlockRunner* block;
    kernel::Position position;
    State state = State::running;
    std::unique_ptr<Fiber> fiber;
  };
  void start_threads(Runner& runner);
  void resume(Runner& runner);
  void stop(State state);

  Dim3 block_;
  std::uint32_t threads_;
  kernel::Position first_;
  std::uint32_t next_thread_ = 0;
  void (*thread_)(void*) = nullptr;
  void* arguments_ = nullptr;
  std::exception_ptr thrown_;
  std::deque<Runner> runners_;  // those that stopped; they do not move
  Runner* current_ = nullptr;

  struct Shared {
    const void* place;
    std::byte* memory;
  };
  std::vector<Shared> shared_;
  std::unique_ptr<std::byte[]> arena_;
  std::size_t arena_used_ = 0;
};

/// Makes waiting kernels fail from now on, so that a process can end while a peer will not come.
void end_waiting_kernels() noexcept;

}  // namespace muster::detail
