#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "muster/bytes.hpp"
#include "muster/deadline.hpp"
#include "muster/device.hpp"
#include "muster/device_properties.hpp"
#include "muster/device_work.hpp"
#include "muster/future.hpp"
#include "muster/graph.hpp"
#include "muster/handle.hpp"
#include "muster/kernel.hpp"
#include "muster/layout.hpp"
#include "muster/memory_report.hpp"
#include "muster/peer_handle.hpp"
#include "muster/profile.hpp"

namespace muster {

namespace detail {
class DeviceService;
}

/// Which bytes Client::staging() moves.
enum class StagingScope : std::uint8_t {
  all,
  files_only,  ///< those of mapped files, so that a device's copy does not wait for the disk
};

/// The memory of a buffer on a host device.
struct HostResource {
  static constexpr Backend backend = Backend::host;
  std::byte* data = nullptr;
  std::size_t size = 0;
};

/// What runs behind a device: the state of a backend, with its options.
class DeviceServer {
 public:
  static DeviceServer host(DeviceOptions options = {}) { return DeviceServer(Backend::host, options); }
  [[nodiscard]] Backend backend() const noexcept { return backend_; }
  [[nodiscard]] const DeviceOptions& options() const noexcept { return options_; }

 private:
  DeviceServer(Backend backend, DeviceOptions options) : backend_(backend), options_(options) {}
  Backend backend_;
  DeviceOptions options_;
};

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

  /// Starts `server` behind `device`, for integrators that choose it themselves. Throws AlreadyRegistered where the device
  /// runs already, and what load throws.
  static Client register_server(DeviceId device, const DeviceServer& server);
  /// The same; nothing where the device runs already.
  static std::optional<Client> try_register_server(DeviceId device, const DeviceServer& server);

  /// Whether the device runs here, without starting it.
  static std::optional<Client> find(DeviceId device);

  [[nodiscard]] DeviceId device_id() const noexcept;
  [[nodiscard]] ServiceId service_id() const noexcept { return {device_id()}; }
  [[nodiscard]] std::string name() const;
  /// What the device is, what it can do, and what its measurements hold for. Computed once; valid as long as the process.
  [[nodiscard]] const DeviceProperties& properties() const;
  [[nodiscard]] const DeviceFeatures& features() const;
  /// Names hardware on which a measurement of this device holds: for keys of caches.
  [[nodiscard]] const std::string& hardware_identity() const;
  /// What kernels for this device are compiled for.
  [[nodiscard]] const TargetProperties& target_properties() const;

  /// This client uses `stream` from now on, whatever thread calls. For integrators.
  void set_stream(StreamId stream) noexcept { stream_ = stream; }
  [[nodiscard]] StreamId stream() const;

  /// Enqueues an allocation holding `bytes`. Bytes of a lazy read are taken over in stream order, without blocking.
  [[nodiscard]] Handle create(Bytes bytes) const;
  /// Enqueues an allocation holding a copy of `values`; they may change as soon as the call returns.
  template <class T>
  [[nodiscard]] Handle create_from_slice(std::span<const T> values) const {
    return create(Bytes::copy_of(values));
  }
  /// Enqueues an allocation of undefined content. A failed one taints the handle.
  [[nodiscard]] Handle empty(std::size_t size_bytes) const;
  /// Enqueues a tensor laid out by the policy of the device. Throws UsageError where the bytes do not fill the shape.
  [[nodiscard]] MemoryLayout create_tensor(Bytes bytes, std::vector<std::size_t> shape, std::size_t element_size) const;
  /// Several tensors in one allocation, each with a slice of it as its handle.
  [[nodiscard]] std::vector<MemoryLayout> create_tensors(std::vector<TensorData> tensors) const;
  [[nodiscard]] MemoryLayout empty_tensor(std::vector<std::size_t> shape, std::size_t element_size) const;
  [[nodiscard]] std::vector<MemoryLayout> empty_tensors(std::span<const TensorShape> tensors) const;
  template <class T>
  [[nodiscard]] MemoryLayout create_tensor_from_slice(std::span<const T> values, std::vector<std::size_t> shape) const {
    return create_tensor(Bytes::copy_of(values), std::move(shape), sizeof(T));
  }

  /// Enqueues a copy into the same memory. Throws UsageError where the sizes differ, ForeignHandle.
  void write(const Handle& handle, Bytes bytes) const;
  /// Enqueues a copy of all bytes between two buffers of this device. Throws UsageError where the sizes differ.
  void copy(const Handle& source, const Handle& destination) const;

  /// Blocks. The bytes as earlier work of this stream leaves them. Throws the failure that they carry.
  [[nodiscard]] Bytes read(const Handle& handle, Deadline deadline = Deadline::never()) const;
  /// Enqueues a read, and flushes.
  [[nodiscard]] Future<Bytes> read_async(const Handle& handle) const;
  /// Blocks. Several buffers of one point of the stream; each failure is thrown once, several as Several.
  [[nodiscard]] std::vector<Bytes> read(std::span<const Handle> handles, Deadline deadline = Deadline::never()) const;
  /// Blocks. The elements of a tensor, packed in row-major order. Throws UsageError where other dimensions than the last
  /// are padded, or the handle is too small.
  [[nodiscard]] Bytes read_tensor(const TensorDescriptor& tensor, Deadline deadline = Deadline::never()) const;
  [[nodiscard]] Future<Bytes> read_tensor_async(const TensorDescriptor& tensor) const;
  /// Enqueues a read of the bytes as they are at this point of the stream, whatever is written later; they are fetched at
  /// the first access, on the host backend without a copy. Until dropped, or copied for a change, they hold the handle, so
  /// that can_mut() is false. The first access throws the failure that the buffer carries.
  [[nodiscard]] Bytes read_lazy(const Handle& handle) const;
  /// The same, once the buffer is known to carry no failure. Flushes.
  [[nodiscard]] Future<Bytes> read_lazy_async(const Handle& handle) const;

  /// Moves host bytes into locked memory, from which devices copy faster. Returns how many were moved: those that are
  /// pinned or in a device already, and those for which there is no locked memory, stay as they are. Does not enqueue.
  std::size_t staging(std::span<Bytes> bytes, StagingScope scope = StagingScope::all) const;

  /// The raw storage of a buffer, for integrators: HostResource on a host device. Blocks until the buffer is allocated;
  /// its memory stays where it is from then on. Nothing orders accesses: sync first. Throws ServiceMismatch where the
  /// device is of another backend, the failure that the buffer carries.
  template <class Resource>
  [[nodiscard]] Resource get_resource(const Handle& handle) const {
    const auto memory = resource_of(handle, Resource::backend);
    return Resource{memory.data(), memory.size()};
  }

  /// Runs `fn`; what this client's stream allocates meanwhile is exact and never swept. The mode before returns
  /// afterwards, also when `fn` throws.
  template <class F>
  auto memory_persistent_allocation(F&& fn) const {
    const AllocationWindow window(*this, AllocationMode::persistent);
    return std::forward<F>(fn)();
  }
  /// Runs `fn`; what this client's stream allocates meanwhile goes to the driver, and back to it when freed.
  template <class F>
  auto memory_dedicated_allocation(F&& fn) const {
    const AllocationWindow window(*this, AllocationMode::dedicated);
    return std::forward<F>(fn)();
  }
  /// Sets the mode for what the stream allocates from now on, and returns the one before. For integrators.
  AllocationMode allocation_mode(AllocationMode mode) const;
  /// Blocks until earlier calls were taken up. Dropped buffers whose work is done are not counted.
  [[nodiscard]] MemoryReport memory_report(MemoryScope scope = MemoryScope::device) const;
  /// Enqueues: appends a report to the file that MUSTER_RECORDS names. Does nothing at all where it names none.
  void record_memory(std::string_view label) const;
  /// Blocks. Returns to the system the memory that nothing uses. Throws UsageError while a stream of the device records a
  /// graph.
  void memory_cleanup() const;

  /// Enqueues one call of the kernel per point, or block, of `count`. A count with a zero runs nothing. A kernel that
  /// throws or does not compile taints all that it would have written; one that reads tainted memory does not run, and
  /// passes the failure on. Throws ForeignHandle; UsageError where the arguments are not those of the kernel's definition,
  /// or a peer's memory cannot be reached from here. With memory of a peer the launch is flushed at once, since it may wait
  /// for the peer's device.
  void launch(const Kernel& kernel, Count count, std::vector<Argument> arguments) const;
  /// What this client's stream launches from now on is treated so; returns the mode before.
  LaunchMode launch_mode(LaunchMode mode) const;
  /// Runs `fn` under a launch mode; the one before returns afterwards, also when `fn` throws.
  template <class F>
  auto with_launch_mode(LaunchMode mode, F&& fn) const {
    const LaunchWindow window(*this, mode);
    return std::forward<F>(fn)();
  }
  /// Enqueues: compiles the kernels that were queued so far, in parallel, before later work. What does not compile fails
  /// its launches.
  void compile_queued() const;
  /// Logs launches issued from now on, to the level of detail given.
  void profiling_level(ProfilingLevel level) const;
  /// Told of launches issued from now on, as long as it lives.
  void add_launch_observer(const std::shared_ptr<LaunchObserver>& observer) const;

  /// Enqueues a copy to another device of this process, and returns the destination's handle at once. It holds the data of
  /// this point of the stream, whatever is written to the source later. A source that carries a failure passes it on.
  /// Devices that can access each other copy directly, others through the host; across ranks, ClientGroup::send and recv do
  /// it. Throws ForeignHandle.
  [[nodiscard]] Handle to_client(const Handle& source, const Client& destination) const;

  /// Whether kernels here can load, store and run atomics on memory that `other` shares. False for this device itself, and
  /// for another backend.
  [[nodiscard]] bool can_access_peer(const Client& other) const;
  /// Memory that peers may bind through Argument::peer; it stays in place while the result lives. Nothing orders a peer's
  /// accesses: sync the writer first, or hand off in kernels. Blocks until the buffer is allocated. Throws
  /// NoDeviceTransport where the device shares nothing, ForeignHandle, and the failure that the buffer carries.
  [[nodiscard]] PeerHandle share_with_peers(const Handle& handle) const;

  /// Throws the failures known now that these handles carry: the one, or Several, each once. Waits for nothing but the
  /// actor.
  void check(std::span<const Handle> handles) const;
  /// Hands everything enqueued to the device's background thread.
  void flush() const;
  /// Blocks until earlier work of this stream is done.
  void sync(Deadline deadline = Deadline::never()) const;
  /// sync(), waits for whatever stream wrote the buffers last, then check(handles).
  void sync_buffers(std::span<const Handle> handles, Deadline deadline = Deadline::never()) const;

  /// Begins to time this client's stream, from the first work enqueued now. Several windows may be open, also nested; a
  /// token may be ended by another thread. Throws UsageError while the stream records a graph.
  [[nodiscard]] ProfileToken profile_start() const;
  /// Enqueues the end of the window, and flushes. The future has the time on the device from the start of the first work in
  /// it to the end of the last; nothing where there was none. Throws UsageError for a token that was ended before.
  [[nodiscard]] Future<ProfileDuration> profile_end(const ProfileToken& token) const;
  /// Ends the window without a result. Nothing happens where it was ended before.
  void profile_abandon(const ProfileToken& token) const;
  /// Runs `fn` with the device to itself, and times what it enqueues to this client's stream: its value with the duration,
  /// or the duration alone if it gives nothing. Blocks until that work is done. `name` stands in the log.
  template <class F>
  auto profile(F&& fn, std::string_view name = {}) const {
    return exclusive([&] {
      const ProfileToken token = profile_start();
      const AbandonedUnlessEnded guard{*this, token};
      if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
        std::forward<F>(fn)();
        return logged(name, profile_end(token).get());
      } else {
        auto value = std::forward<F>(fn)();
        return Profiled<decltype(value)>{std::move(value), logged(name, profile_end(token).get())};
      }
    });
  }
  /// Runs `fn` while no other thread's work reaches the device: it is held back until `fn` has returned. Waits for what
  /// came before. Throws UsageError, and runs nothing, inside a kernel or task of the device and while a stream records a
  /// graph; TimedOut where the device is not free by the deadline.
  template <class F>
  auto exclusive(F&& fn, Deadline deadline = Deadline::after(std::chrono::minutes(1))) const {
    const ExclusiveUse use(*this, deadline);
    return std::forward<F>(fn)();
  }

  /// What `probe` measured for `key` on hardware like this: from the cache in memory, or on disk (MUSTER_CACHE, else
  /// ~/.cache/muster), or by running it now: exclusively, after what is queued for compilation. Throws what it throws.
  double measure_throughput(std::string_view key, const std::function<double(const Client&)>& probe) const;
  /// Elements per access that move elements of this size (bytes) fastest, the best first, down to 1. Throws UsageError for
  /// 0.
  [[nodiscard]] std::vector<std::size_t> io_optimized_vector_sizes(std::size_t element_size) const;

  /// Before the warm-up run of what is to be recorded: until start_capture(), memory that this stream drops stays reserved,
  /// since a graph keeps all that it uses. Enqueues.
  void graph_prepare() const;
  /// Blocks until earlier work of the stream is done. This client's stream records from now on, and runs nothing: launches,
  /// copies and collectives become part of the graph. Reads, syncs, profiling and memory_cleanup are refused meanwhile; a
  /// host write, a transfer, or an allocation beyond what the warm-up run reserved fails the capture, and what it would
  /// have written. Throws UsageError if the stream records already, which goes on then.
  void start_capture() const;
  /// Blocks until taken up. Throws UsageError where nothing is recorded, and what failed the capture.
  [[nodiscard]] Graph stop_capture() const;
  /// Whether this client's stream records. Answers at once.
  [[nodiscard]] bool is_capturing() const;

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
  /// An allocation mode that ends with the scope.
  class AllocationWindow {
   public:
    AllocationWindow(const Client& client, AllocationMode mode) : client_(client), before_(client.allocation_mode(mode)) {}
    AllocationWindow(const AllocationWindow&) = delete;
    AllocationWindow& operator=(const AllocationWindow&) = delete;
    ~AllocationWindow() { client_.allocation_mode(before_); }

   private:
    const Client& client_;
    AllocationMode before_;
  };

  /// The device to one thread, as long as the scope.
  class ExclusiveUse {
   public:
    ExclusiveUse(const Client& client, Deadline deadline) : client_(client) { client_.hold(deadline); }
    ExclusiveUse(const ExclusiveUse&) = delete;
    ExclusiveUse& operator=(const ExclusiveUse&) = delete;
    ~ExclusiveUse() { client_.release(); }

   private:
    const Client& client_;
  };
  struct AbandonedUnlessEnded {
    const Client& client;
    const ProfileToken& token;
    ~AbandonedUnlessEnded() { client.profile_abandon(token); }
  };
  void hold(Deadline deadline) const;
  void release() const noexcept;
  ProfileDuration logged(std::string_view name, ProfileDuration duration) const;

  /// A launch mode that ends with the scope.
  class LaunchWindow {
   public:
    LaunchWindow(const Client& client, LaunchMode mode) : client_(client), before_(client.launch_mode(mode)) {}
    LaunchWindow(const LaunchWindow&) = delete;
    LaunchWindow& operator=(const LaunchWindow&) = delete;
    ~LaunchWindow() { client_.launch_mode(before_); }

   private:
    const Client& client_;
    LaunchMode before_;
  };

  explicit Client(std::shared_ptr<detail::DeviceService> service) : service_(std::move(service)) {}
  /// Throws UsageError while this client's stream records a graph.
  void refuse_while_capturing(std::string_view call) const;
  /// Where a buffer is, and stays from now on.
  [[nodiscard]] MemoryView keep_in_place(const Handle& handle) const;
  [[nodiscard]] std::span<std::byte> resource_of(const Handle& handle, Backend backend) const;
  [[nodiscard]] Handle allocate(std::size_t size_bytes, std::function<void(const Handle&)> then) const;
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
