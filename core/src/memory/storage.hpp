#pragma once

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "memory/memory_pools.hpp"

namespace muster::detail {

/// Memory that nothing refers to any more, from any thread, until the actor takes it back.
class DropQueue {
 public:
  void push(const Grant& grant) {
    const std::lock_guard lock(mutex_);
    grants_.push_back(grant);
    any_.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool empty() const noexcept { return !any_.load(std::memory_order_acquire); }
  std::vector<Grant> take_all() {
    const std::lock_guard lock(mutex_);
    any_.store(false, std::memory_order_release);
    return std::exchange(grants_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Grant> grants_;
  std::atomic<bool> any_{false};
};

/// The memory behind an allocation, or behind a lazy read that outlives a change of it.
class Storage {
 public:
  Storage(const Grant& grant, std::shared_ptr<DropQueue> dropped) : grant_(grant), dropped_(std::move(dropped)) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage() { dropped_->push(grant_); }

  [[nodiscard]] const PageRange& range() const noexcept { return grant_.range; }

 private:
  Grant grant_;
  std::shared_ptr<DropQueue> dropped_;
};

}  // namespace muster::detail
