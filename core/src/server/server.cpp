#include "server/server.hpp"

#include <algorithm>

#include "muster/error.hpp"

namespace muster::detail {

Server::Server(ServiceId service, std::unique_ptr<Driver> driver, DeviceOptions options)
    : service_(service),
      driver_(std::move(driver)),
      pool_([this](std::size_t size) { return driver_->make_page(size); }, options.memory_limit_bytes) {}

void Server::take_back_dropped() {
  for (const PageRange& range : dropped_->take_all()) pool_.give_back(range);
}

void Server::provide(Allocation& allocation) noexcept {
  try {
    take_back_dropped();
    allocation.set_range(pool_.take(allocation.size()));
  } catch (...) {
    allocation.failures().taint(0, allocation.size(), current_failure());
  }
}

Handle Server::allocate(std::size_t size_bytes) {
  auto allocation = std::make_shared<Allocation>(service_, size_bytes, dropped_);
  take_back_dropped();
  allocation->set_range(pool_.take(size_bytes));
  return {std::move(allocation), 0, size_bytes};
}

DriverStream& Server::stream(StreamId id) {
  auto& stream = streams_[id.value];
  if (!stream) stream = driver_->make_stream();
  return *stream;
}

void Server::wait_for(StreamId id, StreamPoint point) {
  if (id == point.stream) return;
  DriverStream& awaited = stream(point.stream);
  if (awaited.reached(point.ticket)) return;
  stream(id).enqueue(driver_->make_wait(awaited, point.ticket));
}

StreamPoint Server::last_point(StreamId id) { return {id, stream(id).last_ticket()}; }

void Server::order_after_conflicts(StreamId id, const StreamOperation& operation) {
  for (const Handle& handle : operation.reads()) {
    const auto& uses = handle.allocation()->uses();
    if (uses.written) wait_for(id, uses.writer);
  }
  for (const Handle& handle : operation.writes()) {
    const auto& uses = handle.allocation()->uses();
    if (uses.written) wait_for(id, uses.writer);
    for (const StreamPoint reader : uses.readers) wait_for(id, reader);
  }
}

void Server::note_uses(StreamPoint point, std::span<const Handle> reads, std::span<const Handle> writes) {
  for (const Handle& handle : reads) {
    auto& readers = handle.allocation()->uses().readers;
    // One point per stream is enough: a later one implies the earlier.
    const auto same = std::find_if(readers.begin(), readers.end(), [&](StreamPoint each) { return each.stream == point.stream; });
    if (same != readers.end()) {
      same->ticket = point.ticket;
    } else {
      readers.push_back(point);
    }
  }
  for (const Handle& handle : writes) {
    // Slices of one allocation may be written by several streams: the last writer waited for the ones before it.
    auto& uses = handle.allocation()->uses();
    uses.readers.clear();
    uses.writer = point;
    uses.written = true;
  }
}

StreamPoint Server::enqueue(StreamId id, std::unique_ptr<StreamOperation> operation) {
  order_after_conflicts(id, *operation);
  // The stream may run and destroy the operation as soon as it has it, so what it uses is noted before.
  DriverStream& target = stream(id);
  const StreamPoint point{id, target.last_ticket() + 1};
  note_uses(point, operation->reads(), operation->writes());
  target.enqueue(std::move(operation));
  return point;
}

}  // namespace muster::detail
