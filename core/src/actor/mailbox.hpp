#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include "muster/device_work.hpp"

namespace muster::detail {

using Task = DeviceTask;

/// A list of tasks taken out of a mailbox, in order. Tasks not taken are destroyed with it.
class TaskList {
 public:
  explicit TaskList(Task* first) noexcept : first_(first) {}
  TaskList(const TaskList&) = delete;
  TaskList& operator=(const TaskList&) = delete;
  ~TaskList() {
    while (take()) {
    }
  }
  /// The next task, or null.
  std::unique_ptr<Task> take() noexcept {
    Task* task = first_;
    if (task) first_ = task->next;
    return std::unique_ptr<Task>(task);
  }

 private:
  Task* first_;
};

/// FIFO of tasks: many producers, and whoever holds the executor token takes all at once.
class Mailbox {
 public:
  Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() { take_all(); }

  /// Appends, and returns how many tasks wait now; 0 if the mailbox is closed (the task is dropped).
  std::size_t push(std::unique_ptr<Task> task) {
    const std::lock_guard lock(mutex_);
    if (closed_) return 0;
    Task* raw = task.release();
    (last_ ? last_->next : first_) = raw;
    last_ = raw;
    return size_.fetch_add(1, std::memory_order_seq_cst) + 1;
  }

  TaskList take_all() noexcept {
    const std::lock_guard lock(mutex_);
    size_.store(0, std::memory_order_seq_cst);
    last_ = nullptr;
    return TaskList(std::exchange(first_, nullptr));
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_seq_cst); }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

 private:
  std::mutex mutex_;
  Task* first_ = nullptr;
  Task* last_ = nullptr;
  std::atomic<std::size_t> size_{0};
  bool closed_ = false;
};

}  // namespace muster::detail
