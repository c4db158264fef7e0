#include "kernel/kernel_cache.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace muster::detail {

KernelCache::Entry KernelCache::compile(const Kernel& kernel) const noexcept {
  try {
    return {compile_(kernel), nullptr};
  } catch (const CompileFailed&) {
    return {nullptr, current_failure()};
  } catch (const std::exception& error) {
    return {nullptr, CompileFailed(kernel.name(), error.what()).share()};
  } catch (...) {
    return {nullptr, CompileFailed(kernel.name(), "it threw something that is not an exception").share()};
  }
}

const KernelCache::Entry& KernelCache::get(const Kernel& kernel) {
  const auto known = entries_.find(kernel.id());
  if (known != entries_.end()) return known->second;
  queued_.erase(kernel.id());
  return entries_.emplace(kernel.id(), compile(kernel)).first->second;
}

void KernelCache::queue(const Kernel& kernel) {
  if (!entries_.contains(kernel.id())) queued_.emplace(kernel.id(), kernel);
}

void KernelCache::compile_queued() {
  std::vector<Kernel> kernels;
  for (auto& [id, kernel] : queued_) kernels.push_back(std::move(kernel));
  queued_.clear();
  std::vector<Entry> made(kernels.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < kernels.size(); i = next.fetch_add(1)) made[i] = compile(kernels[i]);
  };
  {
    const std::size_t helpers = std::min<std::size_t>(kernels.size(), std::max(std::thread::hardware_concurrency(), 1U));
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < helpers; ++i) threads.emplace_back(work);
    work();
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) entries_.emplace(kernels[i].id(), std::move(made[i]));
}

}  // namespace muster::detail
