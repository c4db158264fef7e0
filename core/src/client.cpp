#include "muster/client.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "server/device_service.hpp"

namespace muster {

using detail::Allocation;
using detail::ValueState;

Client Client::load(DeviceId device, DeviceOptions options) { return Client(detail::load_service(device, options)); }

std::optional<Client> Client::find(DeviceId device) {
  auto service = detail::find_service(device);
  if (!service) return std::nullopt;
  return Client(std::move(service));
}

DeviceId Client::device_id() const noexcept { return service_->device(); }
std::string Client::name() const { return service_->device_name(); }
StreamId Client::stream() const { return stream_ ? *stream_ : StreamId::of_this_thread(); }
Doorbell& Client::doorbell() const noexcept { return service_->bell(); }

void Client::require_own(const Handle& handle) const {
  if (handle.service_id() != service_id()) throw ForeignHandle(to_string(handle.service_id()), to_string(service_id()));
}

Handle Client::empty(std::size_t size_bytes) const {
  auto allocation = std::make_shared<Allocation>(service_id(), size_bytes, service_->dropped());
  service_->actor()->submit(
      make_device_task([service = service_.get(), allocation](DeviceContext&) { service->server().provide(*allocation); }));
  return {std::move(allocation), 0, size_bytes};
}

Handle Client::create(Bytes bytes) const {
  const std::size_t size = bytes.size();
  auto allocation = std::make_shared<Allocation>(service_id(), size, service_->dropped());
  Handle handle{allocation, 0, size};
  service_->actor()->submit(make_device_task(
      [service = service_.get(), handle, stream = stream(), bytes = std::move(bytes)](DeviceContext&) mutable {
        auto& server = service->server();
        server.provide(*handle.allocation());
        server.enqueue(stream, server.driver().make_write(std::move(handle), std::move(bytes)));
      }));
  return handle;
}

void Client::write(const Handle& handle, Bytes bytes) const {
  require_own(handle);
  if (bytes.size() != handle.size()) {
    throw UsageError(
        fmt::format("{} bytes cannot be written to a handle of {} bytes; slice the handle", bytes.size(), handle.size()));
  }
  service_->actor()->submit(make_device_task(
      [service = service_.get(), handle, stream = stream(), bytes = std::move(bytes)](DeviceContext&) mutable {
        auto& server = service->server();
        server.enqueue(stream, server.driver().make_write(std::move(handle), std::move(bytes)));
      }));
}

void Client::copy(const Handle& source, const Handle& destination) const {
  require_own(source);
  require_own(destination);
  if (source.size() != destination.size()) {
    throw UsageError(
        fmt::format("cannot copy {} bytes to {} bytes; slice the larger handle", source.size(), destination.size()));
  }
  service_->actor()->submit(
      make_device_task([service = service_.get(), source, destination, stream = stream()](DeviceContext&) {
        auto& server = service->server();
        server.enqueue(stream, server.driver().make_copy(source, destination));
      }));
}

namespace {

/// Enqueues a read that ends in the future's state.
void enqueue_read(detail::DeviceService& service, const Handle& handle, StreamId stream,
                  const std::shared_ptr<ValueState<Bytes>>& state) {
  auto& server = service.server();
  server.enqueue(stream, server.driver().make_read(
                             handle, [state](Bytes bytes) { state->set(std::move(bytes)); },
                             [state](const Failure& failure) { state->fail(failure); }));
}

}  // namespace

Bytes Client::read(const Handle& handle, Deadline deadline) const {
  require_own(handle);
  auto state = std::make_shared<ValueState<Bytes>>(service_->actor());
  service_->actor()->submit_blocking([&] { enqueue_read(*service_, handle, stream(), state); });
  return state->take(deadline);
}

Future<Bytes> Client::read_async(const Handle& handle) const {
  require_own(handle);
  auto state = std::make_shared<ValueState<Bytes>>(service_->actor());
  service_->actor()->submit(make_device_task([service = service_.get(), handle, state, stream = stream()](DeviceContext&) {
    enqueue_read(*service, handle, stream, state);
  }));
  service_->actor()->flush();
  return Future<Bytes>(std::move(state));
}

void Client::launch(const Kernel& kernel, Dim3 count, std::vector<Argument> arguments) const {
  for (const Argument& argument : arguments) {
    if (const auto* buffer = std::get_if<Argument::Buffer>(&argument.value)) require_own(buffer->handle);
  }
  if (count.x == 0 || count.y == 0 || count.z == 0) return;
  service_->actor()->submit(make_device_task([service = service_.get(), kernel, count, stream = stream(),
                                              arguments = std::move(arguments)](DeviceContext&) mutable {
    auto& server = service->server();
    server.enqueue(stream, server.driver().make_launch(std::move(kernel), count, std::move(arguments)));
  }));
}

void Client::check(std::span<const Handle> handles) const {
  for (const Handle& handle : handles) require_own(handle);
  // What the actor itself found, such as a failed allocation, is known once it has run what was enqueued.
  service_->actor()->submit_blocking([] {});
  std::vector<Failure> failures;
  for (const Handle& handle : handles) {
    for (Failure& failure : handle.allocation()->failures().within(handle.offset(), handle.offset() + handle.size())) {
      if (std::find(failures.begin(), failures.end(), failure) == failures.end()) failures.push_back(std::move(failure));
    }
  }
  if (failures.size() == 1) failures.front()->raise();
  if (!failures.empty()) throw Several(std::move(failures));
}

void Client::flush() const {
  if (service_->actor()->closed()) throw DeviceClosed(to_string(device_id()));
  service_->actor()->flush();
}

void Client::sync(Deadline deadline) const {
  const detail::DriverStream* awaited = nullptr;
  std::uint64_t ticket = 0;
  service_->actor()->submit_blocking([&] {
    awaited = &service_->server().stream(stream());
    ticket = service_->server().last_point(stream()).ticket;
  });
  if (!service_->actor()->help_until([&] { return awaited->reached(ticket); }, deadline)) {
    throw TimedOut(fmt::format("device {} did not finish its work before the deadline", to_string(device_id())));
  }
}

void Client::sync_buffers(std::span<const Handle> handles, Deadline deadline) const {
  sync(deadline);
  check(handles);
}

void Client::submit_task(std::unique_ptr<DeviceTask> task) const { service_->actor()->submit(std::move(task)); }

void Client::submit_blocking(const std::function<void(DeviceContext&)>& task) const {
  service_->actor()->submit_blocking([&] { task(service_->server()); });
}

bool Client::help_until(const std::function<bool()>& done, Deadline deadline) const {
  return service_->actor()->help_until([&] { return done(); }, deadline);
}

void Client::add_progress(std::shared_ptr<ExternalProgress> progress) const {
  service_->actor()->add_progress(std::move(progress));
}

}  // namespace muster
