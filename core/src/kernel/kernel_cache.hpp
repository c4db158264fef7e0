#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "muster/error.hpp"
#include "muster/kernel.hpp"

namespace muster::detail {

/// What a driver made of a kernel. Null for those that need no compilation.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
};

/// The kernels of a device by id: compiled at most once, failures too. Used by the actor only.
class KernelCache {
 public:
  /// Called for a kernel that needs compilation, from several threads at once; throws what keeps it from compiling.
  using Compile = std::function<std::shared_ptr<const CompiledKernel>(const Kernel&)>;
  explicit KernelCache(Compile compile) : compile_(std::move(compile)) {}

  struct Entry {
    std::shared_ptr<const CompiledKernel> code;
    Failure failure;
  };
  /// Compiles at the first call for an id.
  const Entry& get(const Kernel& kernel);
  /// Keeps the kernel for compile_queued(), unless it is there already.
  void queue(const Kernel& kernel);
  /// Compiles all that is queued, on several threads.
  void compile_queued();

  [[nodiscard]] std::size_t compiled_count() const noexcept { return entries_.size(); }

 private:
  [[nodiscard]] Entry compile(const Kernel& kernel) const noexcept;

  Compile compile_;
  std::map<KernelId, Entry> entries_;
  std::map<KernelId, Kernel> queued_;
};

}  // namespace muster::detail
