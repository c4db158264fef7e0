#include "muster/client.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "server/device_service.hpp"

namespace muster {

Client Client::load(DeviceId device, DeviceOptions options) { return Client(detail::load_service(device, options)); }

std::optional<Client> Client::try_register_server(DeviceId device, const DeviceServer& server) {
  if (device.backend != server.backend()) {
    throw UsageError(fmt::format("a server of the backend {} cannot stand behind {}", muster::name(server.backend()),
                                 to_string(device)));
  }
  auto service = detail::register_service(device, server.options());
  if (!service) return std::nullopt;
  return Client(std::move(service));
}

Client Client::register_server(DeviceId device, const DeviceServer& server) {
  auto client = try_register_server(device, server);
  if (!client) throw AlreadyRegistered(to_string(device));
  return *std::move(client);
}

std::optional<Client> Client::find(DeviceId device) {
  auto service = detail::find_service(device);
  if (!service) return std::nullopt;
  return Client(std::move(service));
}

DeviceId Client::device_id() const noexcept { return service_->device(); }
std::string Client::name() const { return properties().name; }
const DeviceProperties& Client::properties() const { return service_->description().properties; }
const DeviceFeatures& Client::features() const { return service_->description().features; }
const std::string& Client::hardware_identity() const { return service_->description().identity; }
const TargetProperties& Client::target_properties() const { return service_->description().target; }
StreamId Client::stream() const { return stream_ ? *stream_ : StreamId::of_this_thread(); }
Doorbell& Client::doorbell() const noexcept { return service_->bell(); }

void Client::require_own(const Handle& handle) const {
  if (handle.service_id() != service_id()) throw ForeignHandle(to_string(handle.service_id()), to_string(service_id()));
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
  detail::raise_each_once(std::move(failures));
}

void Client::flush() const {
  if (service_->actor()->closed()) throw DeviceClosed(to_string(device_id()));
  service_->actor()->flush();
}

void Client::sync(Deadline deadline) const {
  refuse_while_capturing("sync");
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
  for (const Handle& handle : handles) require_own(handle);
  sync(deadline);
  // Other streams may have been the last to write: transfers, collectives, other threads.
  std::vector<StreamWatch> writers;
  service_->actor()->submit_blocking([&] {
    for (const Handle& handle : handles) {
      writers.push_back(service_->server().writer_of(handle));
    }
  });
  const auto all_written = [&] {
    return std::all_of(writers.begin(), writers.end(), [](const StreamWatch& each) { return each.reached(); });
  };
  if (!service_->actor()->help_until(all_written, deadline)) {
    throw TimedOut(fmt::format("buffers of device {} were not written before the deadline", to_string(device_id())));
  }
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
