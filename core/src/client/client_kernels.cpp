// Launches of Client, and memory that its kernels share with peers.

#include <fmt/format.h>

#include "kernel/check_launch.hpp"
#include "memory/shared_memory.hpp"
#include "muster/client.hpp"
#include "server/device_service.hpp"

namespace muster {

namespace {

/// Refuses what the device cannot address, and makes the handles those of queued work. Whether another device's memory is
/// among them.
bool take_arguments(const Client& client, std::span<Argument> arguments) {
  bool waits_for_peers = false;
  for (Argument& argument : arguments) {
    if (auto* buffer = std::get_if<Argument::Buffer>(&argument.value)) {
      client.require_own(buffer->handle);
      buffer->handle = buffer->handle.for_work();
      continue;
    }
    auto* peer = std::get_if<Argument::Peer>(&argument.value);
    if (!peer) continue;
    if (peer->handle.service_id() == client.service_id()) {
      // On its owner it is a plain buffer.
      argument.value = Argument::Buffer{peer->handle.memory()->kept, peer->access};
      continue;
    }
    waits_for_peers = true;
    const auto& memory = *peer->handle.memory();
    if (memory.mapping) continue;  // of another process, mapped here
    const auto owner = Client::find(memory.owner.device);
    if (!owner || !client.can_access_peer(*owner)) {
      throw UsageError(
          fmt::format("a kernel of {} cannot reach memory of {}: the two share nothing; copy it with to_client",
                      to_string(client.device_id()), to_string(memory.owner)));
    }
  }
  return waits_for_peers;
}

}  // namespace

void Client::launch(const Kernel& kernel, Count count, std::vector<Argument> arguments) const {
  detail::check_launch(kernel, arguments);
  const bool waits_for_peers = take_arguments(*this, arguments);
  if (const Handle* dynamic = count.buffer()) {
    require_own(*dynamic);
  } else if (count.fixed()->product() == 0) {
    return;
  }
  const StreamId issued_to = stream();
  switch (service_->modes().of(issued_to).launch) {
    case LaunchMode::run:
      break;
    case LaunchMode::compile_only:
      service_->actor()->submit(make_device_task([service = service_.get(), kernel](DeviceContext&) {
        auto& server = service->server();
        if (server.driver().compiles(kernel)) server.kernels().queue(kernel);
      }));
      return;
    case LaunchMode::discard:
      return;
  }
  service_->actor()->submit(make_device_task([service = service_.get(), kernel, count = std::move(count), issued_to,
                                              arguments = std::move(arguments)](DeviceContext&) mutable {
    service->server().enqueue_launch(issued_to, kernel, std::move(count), std::move(arguments));
  }));
  if (waits_for_peers) service_->actor()->flush();
}

LaunchMode Client::launch_mode(LaunchMode mode) const { return service_->modes().set(stream(), mode); }

void Client::compile_queued() const {
  service_->actor()->submit(
      make_device_task([service = service_.get()](DeviceContext&) { service->server().kernels().compile_queued(); }));
}

void Client::profiling_level(ProfilingLevel level) const { service_->server().monitor().set_level(level); }

void Client::add_launch_observer(const std::shared_ptr<LaunchObserver>& observer) const {
  service_->server().monitor().add(observer);
}

bool Client::can_access_peer(const Client& other) const {
  if (service_ == other.service_) return false;
  return service_->server().driver().can_access_peer(other.service_->server().driver());
}

PeerHandle Client::share_with_peers(const Handle& handle) const {
  require_own(handle);
  if (service_->options().peers == PeerAccess::isolated) throw NoDeviceTransport(to_string(device_id()), "its peers");
  const MemoryView view = keep_in_place(handle);
  return PeerHandle(std::make_shared<const detail::SharedMemory>(
      detail::SharedMemory{service_id(), view, handle.size(), handle.for_work(), nullptr}));
}

}  // namespace muster
