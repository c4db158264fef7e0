#include "driver/host/core_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace muster::detail {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto alone_at_first = std::chrono::microseconds(20);  // to wake a thread takes about as long
constexpr std::uint64_t parts_per_thread = 8;

struct Job {
  void (*run)(void*, std::uint64_t, std::uint64_t);
  void* argument;
  std::uint64_t total, part;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr thrown;
  int wanted = 0, active = 0;  // under the pool's mutex

  /// One part; false when there is none left.
  bool run_part() {
    const std::uint64_t begin = next.fetch_add(part, std::memory_order_relaxed);
    if (begin >= total || failed.load(std::memory_order_relaxed)) return false;
    try {
      run(argument, begin, std::min(begin + part, total));
    } catch (...) {
      if (!failed.exchange(true)) thrown = std::current_exception();
    }
    return true;
  }
  [[nodiscard]] bool worth_sharing() const noexcept { return next.load(std::memory_order_relaxed) + part < total; }
};

class CorePool {
 public:
  /// False if another job is shared now.
  bool share(Job& job, int helpers) {
    const std::lock_guard lock(mutex_);
    if (job_) return false;
    while (static_cast<int>(threads_.size()) < helpers) threads_.emplace_back([this] { work(); });
    job.wanted = helpers;
    job_ = &job;
    started_.notify_all();
    return true;
  }
  /// No helper is inside the job afterwards.
  void take_back(Job& job) {
    std::unique_lock lock(mutex_);
    job_ = nullptr;
    ended_.wait(lock, [&] { return job.active == 0; });
  }

 private:
  [[noreturn]] void work() {
    pthread_setname_np(pthread_self(), "muster-core");
    std::unique_lock lock(mutex_);
    for (;;) {
      started_.wait(lock, [&] { return job_ && job_->wanted > 0; });
      Job& job = *job_;
      --job.wanted;
      ++job.active;
      lock.unlock();
      while (job.run_part()) {
      }
      lock.lock();
      if (--job.active == 0) ended_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable started_, ended_;
  std::vector<std::thread> threads_;
  Job* job_ = nullptr;
};

CorePool& pool() {
  static auto* const instance = new CorePool;  // its threads live as long as the process
  return *instance;
}

}  // namespace

void run_in_parallel(int threads, std::uint64_t total, void (*run)(void*, std::uint64_t, std::uint64_t), void* argument) {
  if (threads <= 1 || total <= 1) return run(argument, 0, total);
  Job job{.run = run,
          .argument = argument,
          .total = total,
          .part = std::max<std::uint64_t>(total / (static_cast<std::uint64_t>(threads) * parts_per_thread), 1),
          .thrown = nullptr};
  const auto start = Clock::now();
  bool shared = false;
  while (job.run_part()) {
    if (!shared && job.worth_sharing() && Clock::now() - start >= alone_at_first) shared = pool().share(job, threads - 1);
  }
  if (shared) pool().take_back(job);
  if (job.thrown) std::rethrow_exception(job.thrown);
}

}  // namespace muster::detail
