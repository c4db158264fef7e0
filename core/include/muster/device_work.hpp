#pragma once

// The door through which other layers submit work to a device: the same that Client uses.
// For integrators; programs use client.hpp.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muster/device.hpp"
#include "muster/doorbell.hpp"
#include "muster/error.hpp"
#include "muster/handle.hpp"
#include "muster/peer_handle.hpp"
#include "muster/recycled.hpp"

namespace muster {

/// Where a handle's bytes are on its device. Valid while the handle, or work that holds it, lives.
struct MemoryView {
  std::byte* address = nullptr;  ///< in this process; null where nothing could be allocated
  std::uint64_t page = 0;        ///< id of the page; never used again for another
  std::size_t page_offset = 0;   ///< bytes from the start of the page
};

/// A page of host memory that other processes may map. `descriptor` stays open while the page lives.
struct PageView {
  std::uint64_t id = 0;
  int descriptor = -1;
  std::size_t size = 0;
  std::byte* data = nullptr;  ///< where it is mapped in this process
};

class DeviceContext;

/// One operation in a stream. All calls on it come from one thread at a time.
class StreamOperation : public Recycled {
 public:
  StreamOperation() = default;
  StreamOperation(const StreamOperation&) = delete;
  StreamOperation& operator=(const StreamOperation&) = delete;
  virtual ~StreamOperation() = default;

  /// One step; must not block. True when done. Throwing ends the operation and taints what it writes.
  virtual bool poll() = 0;
  [[nodiscard]] virtual std::span<const Handle> reads() const { return {}; }
  [[nodiscard]] virtual std::span<const Handle> writes() const { return {}; }
  /// The operation will not run, or ended with this failure; its writes are tainted already.
  virtual void failed(const Failure&) {}
  /// Called before the first poll where something that it reads is tainted. False: do not run it.
  virtual bool accepts_tainted(const Failure&) { return false; }
  /// Whether poll may compute for long: another thread is then asked to look after the other streams.
  [[nodiscard]] virtual bool computes() const { return false; }
  /// Whether what it writes keeps the failures that it carries: for operations that move memory, not content.
  [[nodiscard]] virtual bool keeps_failures() const noexcept { return false; }
  /// Whether profiling counts it: not what only orders other work.
  [[nodiscard]] virtual bool is_work() const noexcept { return true; }
  /// Whether a graph may record the operation and run it again: poll() starts anew after it returned true.
  [[nodiscard]] virtual bool repeatable() const noexcept { return false; }
  /// Of a recorded operation that is issued anew for each replay: the one to run, made on the actor. Null: this one runs.
  virtual std::unique_ptr<StreamOperation> issue_again(DeviceContext&) { return nullptr; }
  /// Of such an operation: the stream in whose order its runs stand.
  [[nodiscard]] virtual std::optional<StreamId> ordered_with() const { return std::nullopt; }
};

/// A point in a stream.
struct StreamPoint {
  StreamId stream;
  std::uint64_t ticket = 0;
};

/// Tells from any thread, without a lock, whether a point of a stream was reached. Valid as long as the device.
struct StreamWatch {
  const std::atomic<std::uint64_t>* done = nullptr;  ///< null: it cannot be told
  std::uint64_t ticket = 0;                          ///< 0: there is nothing to wait for
  [[nodiscard]] bool reached() const noexcept {
    return ticket == 0 || (done && done->load(std::memory_order_acquire) >= ticket);
  }
};

/// The device as seen by a task on its actor. Use it inside that task only.
class DeviceContext {
 public:
  /// Queues `operation` after all work that it conflicts with: earlier work of the stream, writers of what it reads, and
  /// users of what it writes.
  virtual StreamPoint enqueue(StreamId stream, std::unique_ptr<StreamOperation> operation) = 0;
  /// Later work of `stream` waits until `point` is reached.
  virtual void wait_for(StreamId stream, StreamPoint point) = 0;
  /// The last point enqueued to `stream`.
  virtual StreamPoint last_point(StreamId stream) = 0;
  /// Before writer_of, where `stream` will write the buffer: what keeps lazy reads of it as they are is enqueued now, and
  /// not with the writer.
  virtual void prepare_to_write(StreamId stream, const Handle& handle) = 0;
  /// Watches the last operation enqueued that writes any of `handle`'s allocation.
  virtual StreamWatch writer_of(const Handle& handle) = 0;
  /// Whether the stream records a graph: what is enqueued to it is recorded then, and must be repeatable.
  virtual bool capturing(StreamId stream) = 0;
  /// Something was asked of a stream that records, and cannot be recorded.
  virtual void fail_capture(StreamId stream, const std::string& why) = 0;
  /// Memory for the use of this device, allocated now. Throws OutOfMemory.
  virtual Handle allocate(std::size_t size_bytes) = 0;

 protected:
  ~DeviceContext() = default;
};

/// A task of a device actor: runs once, in order, and must not block.
class DeviceTask : public Recycled {
 public:
  DeviceTask() = default;
  DeviceTask(const DeviceTask&) = delete;
  DeviceTask& operator=(const DeviceTask&) = delete;
  virtual ~DeviceTask() = default;
  virtual void run(DeviceContext& device) = 0;
  DeviceTask* next = nullptr;  ///< for the mailbox
};

/// A task from a callable that takes the device.
template <class F>
std::unique_ptr<DeviceTask> make_device_task(F callable) {
  class Callable final : public DeviceTask {
   public:
    explicit Callable(F work) : work_(std::move(work)) {}
    void run(DeviceContext& device) override { work_(device); }

   private:
    F work_;
  };
  return std::make_unique<Callable>(std::move(callable));
}

/// Where the bytes of `handle` are. Call it from a stream operation that reads or writes the handle.
MemoryView memory_of(const Handle& handle);
/// The page of that id in this process, if it lives.
PageView page_of(std::uint64_t page_id);
/// The same for memory of a peer.
MemoryView memory_of(const PeerHandle& handle);
/// Memory of a device of another process, mapped here; `mapping` keeps it so.
PeerHandle import_peer_memory(ServiceId owner, MemoryView view, std::size_t size_bytes, std::shared_ptr<void> mapping);
/// The failure that any byte of `handle` carries, or null.
Failure failure_of(const Handle& handle);

/// Told when pages of this process are returned to the system. Called on any thread; must not block.
void on_page_released(std::function<void(std::uint64_t page_id)> callback);

/// Something outside the device that can make progress while threads wait for the device (a network worker).
class ExternalProgress {
 public:
  virtual ~ExternalProgress() = default;
  /// Before a thread sleeps: arrange for the doorbell to be rung on progress. False: do not sleep, poll again.
  virtual bool arm() = 0;
};

/// Whether this process is a child that was forked after a device was started. The threads of its devices are the parent's,
/// so every call that needs one answers DeviceClosed; a program that is started by exec is a new process, and free.
bool in_forked_child() noexcept;
/// What the threads of the runtime rely on; called before each of them is started. Idempotent.
void prepare_process();

/// A stream for the internal use of one owner, distinct from all others of the process.
StreamId make_stream_id();

}  // namespace muster
