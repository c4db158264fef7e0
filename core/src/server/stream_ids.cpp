#include <atomic>
#include <mutex>
#include <vector>

#include "muster/device.hpp"
#include "muster/device_work.hpp"

namespace muster {

namespace {

/// Ids of threads are reused, so that a program with short-lived threads does not collect streams.
struct ThreadIds {
  std::mutex mutex;
  std::vector<std::uint64_t> free;
  std::uint64_t next = 0;
};
ThreadIds& thread_ids() {
  static auto* const instance = new ThreadIds;  // threads may end after static destructors
  return *instance;
}

class ThreadStream {
 public:
  ThreadStream() {
    auto& ids = thread_ids();
    const std::lock_guard lock(ids.mutex);
    if (ids.free.empty()) {
      id_ = ids.next++;
    } else {
      id_ = ids.free.back();
      ids.free.pop_back();
    }
  }
  ThreadStream(const ThreadStream&) = delete;
  ThreadStream& operator=(const ThreadStream&) = delete;
  ~ThreadStream() {
    auto& ids = thread_ids();
    const std::lock_guard lock(ids.mutex);
    ids.free.push_back(id_);
  }
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }

 private:
  std::uint64_t id_;
};

constexpr std::uint64_t first_internal_stream = std::uint64_t{1} << 32U;

}  // namespace

StreamId StreamId::of_this_thread() {
  thread_local const ThreadStream stream;
  return {stream.id()};
}

StreamId make_stream_id() {
  static std::atomic<std::uint64_t> next{first_internal_stream};
  return {next.fetch_add(1, std::memory_order_relaxed)};
}

}  // namespace muster
