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
  Handle allocate(std::size_t size_bytes) override;
  DriverStream& stream(StreamId id);

 private:
  void take_back_dropped();
  void order_after_conflicts(StreamId stream, const StreamOperation& operation);
  void note_uses(StreamPoint point, std::span<const Handle> reads, std::span<const Handle> writes);

  ServiceId service_;
  std::unique_ptr<Driver> driver_;
  PagePool pool_;
  std::shared_ptr<DropQueue> dropped_ = std::make_shared<DropQueue>();
  std::unordered_map<std::uint64_t, std::unique_ptr<DriverStream>> streams_;
};

}  // namespace muster::detail
