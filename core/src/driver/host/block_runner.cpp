#include "driver/host/block_runner.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>

#include "muster/error.hpp"

namespace muster {

namespace detail {

namespace {
thread_local BlockRunner* current_block = nullptr;
std::atomic<bool> ending{false};
constexpr std::size_t shared_limit = std::size_t{64} << 10U;
}  // namespace

void end_waiting_kernels() noexcept { ending.store(true); }

void run_threads(BlockRunner& runner, void (*thread)(void*), void* arguments) { runner.run_threads(thread, arguments); }
void sync_block() { current_block->sync(); }
void* shared_memory(const void* place, std::size_t size, std::size_t alignment) {
  return current_block->shared_memory(place, size, alignment);
}

BlockRunner::BlockRunner(Dim3 grid, Dim3 block) : block_(block), threads_(static_cast<std::uint32_t>(block.product())) {
  first_.block_size = {block.x, block.y, block.z};
  first_.grid_size = {grid.x, grid.y, grid.z};
}

void BlockRunner::run_block(const KernelDefinition& definition, std::span<const KernelContext::Slot> slots,
                            std::uint64_t index) {
  const auto& grid = first_.grid_size;
  first_.block = {static_cast<std::uint32_t>(index % grid.x), static_cast<std::uint32_t>(index / grid.x % grid.y),
                  static_cast<std::uint32_t>(index / grid.x / grid.y)};
  shared_.clear();
  arena_used_ = 0;
  BlockRunner* const outer = std::exchange(current_block, this);
  const kernel::Position* const outer_position = kernel::position;
  definition.run(slots, *this);
  current_block = outer;
  kernel::position = outer_position;
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void BlockRunner::start_threads(Runner& runner) {
  kernel::position = &runner.position;
  try {
    while (next_thread_ < threads_ && !thrown_) {
      const std::uint32_t thread = next_thread_++;
      runner.position.thread = {thread % block_.x, thread / block_.x % block_.y, thread / block_.x / block_.y};
      thread_(arguments_);
    }
  } catch (const boost::context::detail::forced_unwind&) {
    throw;  // the block ends early; this stack is taken down
  } catch (...) {
    if (!thrown_) thrown_ = std::current_exception();
  }
  runner.state = State::finished;
}

void BlockRunner::resume(Runner& runner) {
  runner.state = State::running;
  current_ = &runner;
  kernel::position = &runner.position;
  runner.fiber->resume();
}

void BlockRunner::run_threads(void (*thread)(void*), void* arguments) {
  thread_ = thread;
  arguments_ = arguments;
  next_thread_ = 0;
  while (next_thread_ < threads_ && !thrown_) {
    Runner& runner = runners_.emplace_back(Runner{this, first_, State::running, nullptr});
    runner.fiber = std::make_unique<Fiber>(
        [](void* argument) {
          auto& self = *static_cast<Runner*>(argument);
          self.block->start_threads(self);
        },
        &runner);
    resume(runner);
    if (runner.state == State::finished) runners_.pop_back();
  }
  while (!runners_.empty() && !thrown_) {
    // A barrier opens once all threads that have not returned are at it.
    const bool open = std::all_of(runners_.begin(), runners_.end(), [](const Runner& each) {
      return each.state == State::at_barrier || each.state == State::finished;
    });
    bool all_finished = true;
    for (Runner& runner : runners_) {
      if (thrown_) break;
      if (runner.state == State::yielded || (open && runner.state == State::at_barrier)) resume(runner);
      all_finished = all_finished && runner.state == State::finished;
    }
    if (all_finished) break;
  }
  runners_.clear();  // what stopped half-way when another thread failed is taken down here
}

void BlockRunner::stop(State state) {
  Runner& runner = *current_;
  runner.state = state;
  runner.fiber->suspend();
}

void BlockRunner::sync() {
  if (threads_ > 1) stop(State::at_barrier);
}

void BlockRunner::yield() {
  if (threads_ > 1) stop(State::yielded);
}

void* BlockRunner::shared_memory(const void* place, std::size_t size, std::size_t alignment) {
  for (const Shared& known : shared_) {
    if (known.place == place) return known.memory;
  }
  if (!arena_) arena_ = std::unique_ptr<std::byte[]>(new std::byte[shared_limit]);
  alignment = std::max<std::size_t>(alignment, 64);
  const auto address = reinterpret_cast<std::uintptr_t>(arena_.get() + arena_used_);
  const std::size_t begin = arena_used_ + (alignment - address % alignment) % alignment;
  if (size > shared_limit || begin > shared_limit - size) {
    throw UsageError(fmt::format("a block asks for more than {} bytes of shared memory", shared_limit));
  }
  arena_used_ = begin + size;
  shared_.push_back({place, arena_.get() + begin});
  return shared_.back().memory;
}

}  // namespace detail

namespace kernel {

void relax() {
  if (detail::ending.load(std::memory_order_relaxed)) {
    throw Error(ErrorCode::device_closed, "the process ends while the kernel waits for another device");
  }
  detail::current_block->yield();
  sched_yield();
}

}  // namespace kernel
}  // namespace muster
