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

Server::Entry& Server::entry(StreamId id) {
  if (last_entry_ && last_entry_->id == id) return *last_entry_;
  Entry& found = streams_[id.value];  // references stay valid in an unordered_map
  if (!found.stream) {
    found.id = id;
    found.stream = driver_->make_stream(id);
  }
  last_entry_ = &found;
  return found;
}

void Server::await(Entry& waiting, StreamPoint point) {
  if (waiting.id == point.stream) return;
  for (StreamPoint& known : waiting.awaited) {
    if (known.stream != point.stream) continue;
    known.ticket = std::max(known.ticket, point.ticket);
    return;
  }
  waiting.awaited.push_back(point);
}

void Server::queue_waits(Entry& waiting) {
  for (const StreamPoint point : waiting.awaited) {
    DriverStream& awaited = *streams_.at(point.stream.value).stream;
    if (!awaited.reached(point.ticket)) waiting.stream->enqueue(driver_->make_wait(awaited, point.ticket));
  }
  waiting.awaited.clear();
}

void Server::wait_for(StreamId id, StreamPoint point) { await(entry(id), point); }

StreamPoint Server::last_point(StreamId id) {
  Entry& asked = entry(id);
  queue_waits(asked);
  return {id, asked.stream->last_ticket()};
}

StreamWatch Server::writer_of(const Handle& handle) {
  const auto& uses = handle.allocation()->uses();
  if (!uses.written) return {};
  return {stream(uses.writer.stream).done_count(), uses.writer.ticket};
}

void Server::order_after_conflicts(Entry& waiting, const StreamOperation& operation) {
  for (const Handle& handle : operation.reads()) {
    const auto& uses = handle.allocation()->uses();
    if (uses.written) await(waiting, uses.writer);
  }
  for (const Handle& handle : operation.writes()) {
    const auto& uses = handle.allocation()->uses();
    if (uses.written) await(waiting, uses.writer);
    for (const StreamPoint reader : uses.readers) await(waiting, reader);
  }
}

void Server::note_uses(StreamPoint point, std::span<const Handle> reads, std::span<const Handle> writes) {
  for (const Handle& handle : reads) {
    auto& readers = handle.allocation()->uses().readers;
    // One point per stream is enough: a later one implies the earlier.
    const auto same =
        std::find_if(readers.begin(), readers.end(), [&](StreamPoint each) { return each.stream == point.stream; });
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
  Entry& target = entry(id);
  order_after_conflicts(target, *operation);
  queue_waits(target);
  // The stream may run and destroy the operation as soon as it has it, so what it uses is noted before.
  const StreamPoint point{id, target.stream->last_ticket() + 1};
  note_uses(point, operation->reads(), operation->writes());
  target.stream->enqueue(std::move(operation));
  return point;
}

}  // namespace muster::detail
