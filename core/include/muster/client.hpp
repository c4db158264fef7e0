#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muster/bytes.hpp"
#include "muster/deadline.hpp"
#include "muster/device.hpp"
#include "muster/device_work.hpp"
#include "muster/future.hpp"
#include "muster/handle.hpp"
#include "muster/kernel.hpp"

namespace muster {

namespace detail {
class DeviceService;
}

/// A handle to a device actor, with a current stream: that of the calling thread unless one is set.
///
/// Cheap to copy; copies share the device. All members may be called from any thread. Calls that enqueue return at
/// once; a call that blocks does the device's work while it waits. After the device is closed, every call throws
/// DeviceClosed.
class Client {
 public:
  /// Starts the device if it does not run. Throws UsageError for a device of another rank than `device` was started
  /// with, or a negative ordinal.
  static Client load(DeviceId device, DeviceOptions options = {});

  /// Whether the device runs here, without starting it.
  static std::optional<Client> find(DeviceId device);

  [[nodiscard]] DeviceId device_id() const noexcept;
  [[nodiscard]] ServiceId service_id() const noexcept { return {device_id()}; }
  [[nodiscard]] std::string name() const;

  /// This client uses `stream` from now on, whatever thread calls. For integrators.
  void set_stream(StreamId stream) noexcept { stream_ = stream; }
  [[nodiscard]] StreamId stream() const;

  /// Enqueues an allocation holding `bytes`.
  [[nodiscard]] Handle create(Bytes bytes) const;
  /// Enqueues an allocation holding a copy of `values`; they may change as soon as the call returns.
  template <class T>
  [[nodiscard]] Handle create_from_slice(std::span<const T> values) const {
    return create(Bytes::copy_of(values));
  }
  /// Enqueues an allocation of undefined content. A failed one taints the handle.
  [[nodiscard]] Handle empty(std::size_t size_bytes) const;
  /// Enqueues a copy into the same memory. Throws UsageError where the sizes differ, ForeignHandle.
  void write(const Handle& handle, Bytes bytes) const;
  /// Enqueues a copy of all bytes between two buffers of this device. Throws UsageError where the sizes differ.
  void copy(const Handle& source, const Handle& destination) const;

  /// Blocks. The bytes as earlier work of this stream leaves them. Throws the failure that they carry.
  [[nodiscard]] Bytes read(const Handle& handle, Deadline deadline = Deadline::never()) const;
  /// Enqueues a read, and flushes.
  [[nodiscard]] Future<Bytes> read_async(const Handle& handle) const;

  /// Enqueues one call of the kernel per point of `count`. A count with a zero runs nothing. A kernel that throws taints
  /// all that it would have written; one that reads tainted memory does not run, and passes the failure on.
  void launch(const Kernel& kernel, Dim3 count, std::vector<Argument> arguments) const;

  /// Throws the failures known now that these handles carry: the one, or Several, each once. Waits for nothing but the
  /// actor.
  void check(std::span<const Handle> handles) const;
  /// Hands everything enqueued to the device's background thread.
  void flush() const;
  /// Blocks until earlier work of this stream is done.
  void sync(Deadline deadline = Deadline::never()) const;
  /// sync(), then check(handles).
  void sync_buffers(std::span<const Handle> handles, Deadline deadline = Deadline::never()) const;

  /// Queues a task on the actor: it runs once, in order, and must not block. Failures of it are logged.
  template <class F>
  void submit(F task) const {
    submit_task(make_device_task(std::move(task)));
  }
  void submit_task(std::unique_ptr<DeviceTask> task) const;
  /// Runs a task on the actor in order, waits for it, and rethrows what it throws.
  void submit_blocking(const std::function<void(DeviceContext&)>& task) const;
  /// Does the device's work until `done` or the deadline; whether it is done.
  bool help_until(const std::function<bool()>& done, Deadline deadline) const;
  /// Lets `progress` know before a thread sleeps for this device. It must outlive the device's use.
  void add_progress(std::shared_ptr<ExternalProgress> progress) const;
  /// Rung whenever something may have changed for this device; peers in other processes may map it.
  [[nodiscard]] Doorbell& doorbell() const noexcept;

  /// Throws ForeignHandle unless `handle` is memory of this device, UsageError if it is empty.
  void require_own(const Handle& handle) const;

 private:
  explicit Client(std::shared_ptr<detail::DeviceService> service) : service_(std::move(service)) {}
  std::shared_ptr<detail::DeviceService> service_;
  std::optional<StreamId> stream_;
};

/// The page of shared memory with the doorbells of this process, and where that of a device is in it.
PageView doorbell_page();
std::size_t doorbell_offset(const Client& client);

/// Ends all devices of this process: pending work is finished where it needs no peer, the rest is failed with
/// DeviceClosed. Called at exit; calling it earlier is allowed.
void close_all_devices() noexcept;

}  // namespace muster
