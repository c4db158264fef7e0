#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "driver/driver.hpp"
#include "kernel/kernel_cache.hpp"
#include "memory/allocation.hpp"
#include "memory/memory_pools.hpp"
#include "muster/device_work.hpp"
#include "server/capture.hpp"
#include "server/launch_monitor.hpp"
#include "server/storage_view.hpp"

namespace muster::detail {

/// The state behind an actor: memory, streams, and the order between them. Used inside the actor's tasks only.
class Server final : public DeviceContext {
 public:
  Server(ServiceId service, std::unique_ptr<Driver> driver, DeviceOptions options);

  [[nodiscard]] Driver& driver() noexcept { return *driver_; }

  /// Gives memory to an allocation made by a caller; a failure taints it.
  void provide(Allocation& allocation, StreamId stream, AllocationMode mode) noexcept;
  /// Enqueues a view of a buffer's storage for `holder`, alive as long as the view is. False where the storage must stay
  /// where it is, and the caller has to copy.
  bool enqueue_view(StreamId stream, Handle source, const std::shared_ptr<const void>& holder, ViewStorage::Done done,
                    ViewStorage::Failed failed);
  /// The address of this buffer is given out: it stays while the buffer lives. Whether it moves once more, in this stream.
  bool keep_in_place(StreamId stream, const Handle& handle);

  /// Pools, with all that was dropped so far taken back.
  MemoryPools& pools();

  /// Compiles on first use. A kernel that does not compile taints what it would have written.
  void enqueue_launch(StreamId stream, const Kernel& kernel, Count count, std::vector<Argument> arguments);
  [[nodiscard]] KernelCache& kernels() noexcept { return kernels_; }
  [[nodiscard]] LaunchMonitor& monitor() noexcept { return monitor_; }

  StreamPoint enqueue(StreamId stream, std::unique_ptr<StreamOperation> operation) override;
  void wait_for(StreamId stream, StreamPoint point) override;
  StreamPoint last_point(StreamId stream) override;
  void prepare_to_write(StreamId stream, const Handle& handle) override;
  bool capturing(StreamId stream) override;
  void fail_capture(StreamId stream, const std::string& why) override;
  [[nodiscard]] Capture& capture(StreamId stream) { return entry(stream).capture; }
  void start_capture(StreamId stream);
  std::shared_ptr<GraphBody> stop_capture(StreamId stream);
  /// Enqueues a run of a graph, in order with the streams that its operations belong to.
  void replay(StreamId stream, std::shared_ptr<const GraphBody> body);

  StreamWatch writer_of(const Handle& handle) override;
  Handle allocate(std::size_t size_bytes) override;
  DriverStream& stream(StreamId id) { return *entry(id).stream; }

 private:
  /// A stream, and the points of others that its next work must wait for. Waits are queued only once work follows: of
  /// many waits for one stream the last is enough.
  struct Entry {
    StreamId id;
    std::unique_ptr<DriverStream> stream;
    std::vector<StreamPoint> awaited;
    Capture capture;
  };
  Entry& entry(StreamId id);
  void queue_waits(Entry& entry);
  void take_back_dropped();
  /// Moves what the operation writes away from lazy reads of it; the failure if there is no memory for that.
  Failure part_from_views(StreamId stream, const StreamOperation& operation);
  void replace_storage(StreamId stream, const std::shared_ptr<Allocation>& allocation, ReplaceStorage::Content content);
  StreamPoint enqueue_after_conflicts(StreamId stream, std::unique_ptr<StreamOperation> operation);
  void order_after_conflicts(Entry& entry, const StreamOperation& operation);
  void await(Entry& entry, StreamPoint point);
  void note_uses(StreamPoint point, std::span<const Handle> reads, std::span<const Handle> writes);

  ServiceId service_;
  std::unique_ptr<Driver> driver_;
  MemoryPools pools_;
  KernelCache kernels_;
  LaunchMonitor monitor_;
  std::shared_ptr<DropQueue> dropped_ = std::make_shared<DropQueue>();
  std::unordered_map<std::uint64_t, Entry> streams_;
  Entry* last_entry_ = nullptr;  // most work goes to the stream that the work before went to
};

}  // namespace muster::detail
