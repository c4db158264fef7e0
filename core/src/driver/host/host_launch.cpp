#include "driver/host/host_launch.hpp"

#include <array>
#include <cstring>

#include "driver/host/block_runner.hpp"
#include "driver/host/core_pool.hpp"
#include "muster/error.hpp"

namespace muster::detail {

namespace {

Dim3 point_at(std::uint64_t index, const Dim3& grid) noexcept {
  return {static_cast<std::uint32_t>(index % grid.x), static_cast<std::uint32_t>(index / grid.x % grid.y),
          static_cast<std::uint32_t>(index / grid.x / grid.y)};
}

KernelContext::Slot slot_of(const Argument& argument) {
  KernelContext::Slot slot;
  if (const auto* buffer = std::get_if<Argument::Buffer>(&argument.value)) {
    slot.memory = {memory_of(buffer->handle).address, buffer->handle.size()};
  } else if (const auto* peer = std::get_if<Argument::Peer>(&argument.value)) {
    slot.memory = {memory_of(peer->handle).address, peer->handle.size()};
  } else if (const auto* integer = std::get_if<std::int64_t>(&argument.value)) {
    slot.integer = *integer;
  } else if (const auto* real = std::get_if<double>(&argument.value)) {
    slot.real = *real;
  } else {
    slot.words = std::get<Argument::Metadata>(argument.value);
  }
  return slot;
}

/// Slots of a launch, without an allocation where they are few.
class Slots {
 public:
  explicit Slots(std::span<const Argument> arguments) {
    KernelContext::Slot* slots = few_.data();
    if (arguments.size() > few_.size()) {
      many_.resize(arguments.size());
      slots = many_.data();
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) slots[i] = slot_of(arguments[i]);
    view_ = {slots, arguments.size()};
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  [[nodiscard]] std::span<const KernelContext::Slot> view() const noexcept { return view_; }

 private:
  std::array<KernelContext::Slot, 8> few_;
  std::vector<KernelContext::Slot> many_;
  std::span<const KernelContext::Slot> view_;
};

struct Grid {
  Dim3 count;
  std::span<const KernelContext::Slot> slots;
  const Kernel::Body* body;
  const Kernel::State* kernel;
};

void run_points(void* argument, std::uint64_t begin, std::uint64_t end) {
  const auto& grid = *static_cast<const Grid*>(argument);
  for (std::uint64_t i = begin; i < end; ++i) (*grid.body)(KernelContext(point_at(i, grid.count), grid.count, grid.slots));
}

void run_blocks(void* argument, std::uint64_t begin, std::uint64_t end) {
  const auto& grid = *static_cast<const Grid*>(argument);
  BlockRunner runner(grid.count, grid.kernel->block);
  for (std::uint64_t i = begin; i < end; ++i) runner.run_block(*grid.kernel->definition, grid.slots, i);
}

}  // namespace

HostLaunch::HostLaunch(HostLaunchPlan plan, std::unique_ptr<LaunchReport> report)
    : plan_(std::move(plan)), report_(std::move(report)) {
  for (const Argument& argument : plan_.arguments) {
    const auto* buffer = std::get_if<Argument::Buffer>(&argument.value);
    if (!buffer) continue;
    if (buffer->access != Access::write) reads_.push_back(buffer->handle);
    if (buffer->access != Access::read) writes_.push_back(buffer->handle);
  }
  if (const Handle* dynamic = plan_.count.buffer()) reads_.push_back(*dynamic);
}

void HostLaunch::run(Dim3 count, std::span<const KernelContext::Slot> slots) const {
  const auto& kernel = plan_.kernel.state();
  const auto* code = static_cast<const HostCode*>(plan_.code.get());
  Grid grid{count, slots, code ? &code->body() : &kernel.body, &kernel};
  try {
    run_in_parallel(plan_.threads, count.product(), kernel.definition ? &run_blocks : &run_points, &grid);
  } catch (const std::exception& error) {
    throw LaunchFailed(kernel.id.name, error.what());
  } catch (...) {
    throw LaunchFailed(kernel.id.name, "it threw something that is not an exception");
  }
}

bool HostLaunch::poll() {
  Dim3 count;
  if (const Dim3* fixed = plan_.count.fixed()) {
    count = *fixed;
  } else {
    std::memcpy(&count, memory_of(*plan_.count.buffer()).address, sizeof count);
  }
  const Slots slots(plan_.arguments);
  if (!report_) {
    run(count, slots.view());
    return true;
  }
  using Clock = std::chrono::steady_clock;
  auto& record = report_->record;
  record.count = count;
  const auto start = report_->timed ? Clock::now() : Clock::time_point{};
  const auto tell = [&] {
    if (report_->timed) record.duration = Clock::now() - start;
    report_->monitor.launched(record);
  };
  try {
    run(count, slots.view());
  } catch (...) {
    tell();
    throw;
  }
  tell();
  return true;
}

}  // namespace muster::detail
