#include "server/server.hpp"

#include <algorithm>

#include "muster/error.hpp"

namespace muster::detail {

namespace {
/// What other layers allocate for themselves is counted as the use of this stream.
constexpr StreamId internal_stream{~std::uint64_t{0}};

/// Whether any lazy read refers to the allocation; forgets those that ended.
bool has_views(Allocation& allocation) {
  auto& views = allocation.uses().views;
  if (!views.empty()) std::erase_if(views, [](const auto& view) { return view.expired(); });
  return !views.empty();
}
}  // namespace

Server::Server(ServiceId service, std::unique_ptr<Driver> driver, DeviceOptions options)
    : service_(service),
      driver_(std::move(driver)),
      pools_([this](std::size_t size) { return driver_->make_page(size); }, options.memory_limit_bytes),
      kernels_([this](const Kernel& kernel) { return driver_->compile(kernel); }) {}

void Server::take_back_dropped() {
  if (dropped_->empty()) return;
  for (const Grant& grant : dropped_->take_all()) pools_.give_back(grant);
}

MemoryPools& Server::pools() {
  take_back_dropped();
  return pools_;
}

void Server::provide(Allocation& allocation, StreamId stream, AllocationMode mode) noexcept {
  Capture& capture = entry(stream).capture;
  const bool recording = capture.stage() == Capture::Stage::recording;
  try {
    const MemoryRequest request{allocation.size(), mode, stream};
    const Grant grant = recording ? pools().take_reserved(request) : pools().take(request);
    allocation.set_storage(std::make_shared<Storage>(grant, dropped_));
    if (mode == AllocationMode::persistent) allocation.uses().in_place = true;
    if (capture.stage() == Capture::Stage::preparing) capture.keep(allocation.storage());
  } catch (...) {
    const Failure failure = current_failure();
    allocation.failures().taint(0, allocation.size(), failure);
    if (recording) capture.fail(failure);
  }
}

Handle Server::allocate(std::size_t size_bytes) {
  auto allocation = std::make_shared<Allocation>(service_, size_bytes);
  allocation->set_storage(std::make_shared<Storage>(pools().take({size_bytes, {}, internal_stream}), dropped_));
  return {std::move(allocation), 0, size_bytes};
}

bool Server::enqueue_view(StreamId stream, Handle source, const std::shared_ptr<const void>& holder, ViewStorage::Done done,
                          ViewStorage::Failed failed) {
  auto& uses = source.allocation()->uses();
  if (uses.in_place || !driver_->host_reads_memory()) return false;
  has_views(*source.allocation());
  uses.views.emplace_back(holder);
  enqueue(stream, std::make_unique<ViewStorage>(std::move(source), std::move(done), std::move(failed)));
  return true;
}

void Server::replace_storage(StreamId stream, const std::shared_ptr<Allocation>& allocation,
                             ReplaceStorage::Content content) {
  auto fresh = std::make_shared<Storage>(pools().take({allocation->size(), {}, stream}), dropped_);
  allocation->uses().views.clear();
  enqueue_after_conflicts(stream, std::make_unique<ReplaceStorage>(Handle(allocation, 0, allocation->size()).for_work(),
                                                                   std::move(fresh), content));
}

bool Server::keep_in_place(StreamId stream, const Handle& handle) {
  const bool moves = has_views(*handle.allocation());
  if (moves) replace_storage(stream, handle.allocation(), ReplaceStorage::Content::keep);
  handle.allocation()->uses().in_place = true;
  return moves;
}

void Server::prepare_to_write(StreamId stream, const Handle& handle) {
  if (!has_views(*handle.allocation())) return;
  try {
    replace_storage(stream, handle.allocation(), ReplaceStorage::Content::keep);
  } catch (const OutOfMemory&) {
    // The writer comes to the same end, and is refused.
  }
}

Failure Server::part_from_views(StreamId stream, const StreamOperation& operation) {
  for (const Handle& handle : operation.writes()) {
    const auto& allocation = handle.allocation();
    if (!has_views(*allocation)) continue;
    const auto reads = operation.reads();
    const bool partial =
        handle.size() != allocation->size() ||
        std::any_of(reads.begin(), reads.end(), [&](const Handle& read) { return read.allocation() == allocation; });
    try {
      replace_storage(stream, allocation, partial ? ReplaceStorage::Content::keep : ReplaceStorage::Content::drop);
    } catch (...) {
      return current_failure();
    }
  }
  return nullptr;
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

void Server::enqueue_launch(StreamId stream, const Kernel& kernel, Count count, std::vector<Argument> arguments) {
  Launch launch{kernel, nullptr, std::move(count), std::move(arguments), nullptr};
  Failure failure;
  if (driver_->compiles(kernel)) {
    const auto& entry = kernels_.get(kernel);
    launch.code = entry.code;
    failure = entry.failure;
  }
  if (monitor_.active()) {
    launch.report = std::make_unique<LaunchReport>(
        LaunchReport{monitor_, {kernel.id(), service_.device, stream, {}, {}, {}}, monitor_.wants_timing(kernel.id())});
    for (const Argument& argument : launch.arguments) {
      if (const auto* buffer = std::get_if<Argument::Buffer>(&argument.value)) {
        launch.report->record.buffer_bytes.push_back(buffer->handle.size());
      }
    }
  }
  auto operation = driver_->make_launch(std::move(launch));
  if (failure) operation = std::make_unique<RefusedOperation>(std::move(operation), std::move(failure));
  enqueue(stream, std::move(operation));
}

bool Server::capturing(StreamId stream) { return entry(stream).capture.stage() == Capture::Stage::recording; }

void Server::fail_capture(StreamId stream, const std::string& why) {
  entry(stream).capture.fail(std::make_shared<const CaptureFailed>(why));
}

void Server::start_capture(StreamId stream) {
  pools_.begin_recording();
  entry(stream).capture.start();
}

std::shared_ptr<GraphBody> Server::stop_capture(StreamId stream) {
  pools_.end_recording();
  return entry(stream).capture.stop();
}

void Server::replay(StreamId stream, std::shared_ptr<const GraphBody> body) {
  for (const StreamId other : body->ordered_streams) wait_for(stream, last_point(other));
  const StreamPoint point = enqueue(stream, std::make_unique<GraphRun>(body, *this));
  for (const StreamId other : body->ordered_streams) wait_for(other, point);
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

StreamPoint Server::enqueue_after_conflicts(StreamId id, std::unique_ptr<StreamOperation> operation) {
  Entry& target = entry(id);
  order_after_conflicts(target, *operation);
  queue_waits(target);
  // The stream may run and destroy the operation as soon as it has it, so what it uses is noted before.
  const StreamPoint point{id, target.stream->last_ticket() + 1};
  note_uses(point, operation->reads(), operation->writes());
  target.stream->enqueue(std::move(operation));
  return point;
}

StreamPoint Server::enqueue(StreamId id, std::unique_ptr<StreamOperation> operation) {
  take_back_dropped();
  if (capturing(id)) {
    // What the graph refers to stays where it is, from before the first replay.
    for (const auto& used : {operation->reads(), operation->writes()}) {
      for (const Handle& handle : used) keep_in_place(id, handle);
    }
    operation = entry(id).capture.record(std::move(operation));
    if (!operation) return {id, entry(id).stream->last_ticket()};
    return enqueue_after_conflicts(id, std::move(operation));
  }
  if (Failure failure = part_from_views(id, *operation)) {
    operation = std::make_unique<RefusedOperation>(std::move(operation), std::move(failure));
  }
  return enqueue_after_conflicts(id, std::move(operation));
}

}  // namespace muster::detail
