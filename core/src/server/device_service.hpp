#pragma once

#include <memory>

#include "actor/actor.hpp"
#include "driver/host/host_driver.hpp"
#include "server/server.hpp"
#include "server/stream_modes.hpp"

namespace muster::detail {

/// A running device: its actor, its streams and its server. Shared by its clients and the registry.
class DeviceService {
 public:
  DeviceService(DeviceId device, DeviceOptions options);
  DeviceService(const DeviceService&) = delete;
  DeviceService& operator=(const DeviceService&) = delete;
  ~DeviceService();

  [[nodiscard]] DeviceId device() const noexcept { return device_; }
  [[nodiscard]] const DeviceOptions& options() const noexcept { return options_; }
  [[nodiscard]] Doorbell& bell() const noexcept { return bell_; }
  [[nodiscard]] const std::shared_ptr<Actor>& actor() const noexcept { return actor_; }
  [[nodiscard]] Server& server() noexcept { return server_; }
  [[nodiscard]] StreamModes& modes() noexcept { return modes_; }
  /// Whether any stream has work.
  [[nodiscard]] bool busy() const { return streams_.pending(); }
  /// Streams of transfers between devices: they never stand behind a program's work that they do not need.
  [[nodiscard]] StreamId outgoing() const noexcept { return outgoing_; }
  [[nodiscard]] StreamId incoming() const noexcept { return incoming_; }
  [[nodiscard]] const DeviceDescription& description() noexcept { return server_.driver().description(); }

  void close() noexcept;

 private:
  DeviceId device_;
  DeviceOptions options_;
  Doorbell& bell_;
  HostStreamSet streams_;
  Server server_;
  StreamModes modes_;
  StreamId outgoing_ = make_stream_id(), incoming_ = make_stream_id();
  std::shared_ptr<Actor> actor_;  // last: its thread uses all of the above
};

/// The devices of this process. Loading is safe from any thread.
std::shared_ptr<DeviceService> load_service(DeviceId device, DeviceOptions options);
/// Null where the device runs already.
std::shared_ptr<DeviceService> register_service(DeviceId device, DeviceOptions options);
std::shared_ptr<DeviceService> find_service(DeviceId device);

/// A doorbell in the page of shared memory that holds those of this process.
Doorbell& take_doorbell();

}  // namespace muster::detail
