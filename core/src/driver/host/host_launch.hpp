#pragma once

#include <memory>
#include <vector>

#include "kernel/kernel_cache.hpp"
#include "muster/device_work.hpp"
#include "server/launch_monitor.hpp"

namespace muster::detail {

/// The body that a Kernel::Compile made.
class HostCode final : public CompiledKernel {
 public:
  explicit HostCode(Kernel::Body body) : body_(std::move(body)) {}
  [[nodiscard]] const Kernel::Body& body() const noexcept { return body_; }

 private:
  Kernel::Body body_;
};

/// What a launch needs; shared by the operation and by graphs that replay it.
struct HostLaunchPlan {
  Kernel kernel;
  std::shared_ptr<const CompiledKernel> code;
  Count count;
  std::vector<Argument> arguments;
  int threads = 1;
};

/// Calls the kernel for each point or block of the grid, x fastest on one thread.
class HostLaunch final : public StreamOperation {
 public:
  HostLaunch(HostLaunchPlan plan, std::unique_ptr<LaunchReport> report);
  bool poll() override;
  [[nodiscard]] std::span<const Handle> reads() const override { return reads_; }
  [[nodiscard]] std::span<const Handle> writes() const override { return writes_; }
  [[nodiscard]] bool computes() const override { return true; }
  [[nodiscard]] bool repeatable() const noexcept override { return true; }

 private:
  void run(Dim3 count, std::span<const KernelContext::Slot> slots) const;

  HostLaunchPlan plan_;
  std::vector<Handle> reads_, writes_;
  std::unique_ptr<LaunchReport> report_;
};

}  // namespace muster::detail
