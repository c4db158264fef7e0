#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "driver/driver.hpp"
#include "memory/allocation.hpp"
#include "memory/page_pool.hpp"
#include "muster/device_work.hpp"

namespace muster::detail {

/// The state behind an actor: memory, streams, and the order between them. Used inside the actor's tasks only.
class Server final : public DeviceContext {
 public:
  Server(ServiceId service, std::unique_ptr<Driver> driver, DeviceOptions options);

  [[nodiscard]] const std::shared_ptr<DropQueue>& dropped() const noexcept { return dropped_; }
  [[nodiscard]] Driver& driver() noexcept { return *driver_; }

  /// Gives memory to an allocation made by a caller; a failure taints it.
  void provide(Allocation& allocation) noexcept;

  StreamPoint enqueue(StreamId stream, std::unique_ptr<StreamOperation> operation) override;
  void wait_for(StreamId stream, StreamPoint point) override;
  StreamPoint last_point(StreamId stream) override;
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
  };
  Entry& entry(StreamId id);
  void queue_waits(Entry& entry);
  void take_back_dropped();
  void order_after_conflicts(Entry& entry, const StreamOperation& operation);
  void await(Entry& entry, StreamPoint point);
  void note_uses(StreamPoint point, std::span<const Handle> reads, std::span<const Handle> writes);

  ServiceId service_;
  std::unique_ptr<Driver> driver_;
  PagePool pool_;
  std::shared_ptr<DropQueue> dropped_ = std::make_shared<DropQueue>();
  std::unordered_map<std::uint64_t, Entry> streams_;
  Entry* last_entry_ = nullptr;  // most work goes to the stream that the work before went to
};

}  // namespace muster::detail
