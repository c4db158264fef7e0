#include "server/device_service.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#include "driver/host/block_runner.hpp"
#include "memory/mapped_page.hpp"
#include "muster/client.hpp"
#include "muster/error.hpp"

namespace muster {

namespace detail {

namespace {

struct Registry {
  std::mutex mutex;
  std::map<DeviceId, std::shared_ptr<DeviceService>> devices;
  bool closed = false;
};

/// Never destroyed: threads may still call while the process exits, and must be answered.
Registry& registry() {
  static auto* const instance = [] {
    std::atexit([] { close_all_devices(); });
    return new Registry;
  }();
  return *instance;
}

constexpr std::size_t bell_stride = 128;  // a pair of cache lines each: peers must not disturb each other
constexpr std::size_t bell_page_size = std::size_t{64} << 10U;

struct BellPage {
  MappedPage page{bell_page_size};
  std::atomic<std::size_t> taken{0};
};
BellPage& bell_page() {
  static auto* const instance = new BellPage;
  return *instance;
}

}  // namespace

Doorbell& take_doorbell() {
  auto& bells = bell_page();
  const std::size_t index = bells.taken.fetch_add(1);
  if ((index + 1) * bell_stride > bells.page.size()) throw UsageError("a process can start at most 512 devices");
  return *new (bells.page.data() + index * bell_stride) Doorbell;
}

DeviceService::DeviceService(DeviceId device, DeviceOptions options)
    : device_(device),
      options_(options),
      bell_(take_doorbell()),
      server_(ServiceId{device}, std::make_unique<HostDriver>(bell_, streams_, options), options),
      actor_(std::make_shared<Actor>(to_string(device), bell_, streams_, server_)) {
  streams_.attach(*actor_);
}

DeviceService::~DeviceService() { close(); }

void DeviceService::close() noexcept {
  if (in_forked_child()) return;
  // Work that needs no peer is finished; what then still waits for one is failed.
  constexpr auto patience = std::chrono::milliseconds(200);
  try {
    actor_->help_until([&] { return !streams_.pending(); }, Deadline::after(patience));
  } catch (...) {
    // Closed already, or called from inside: then there is nothing to wait for.
  }
  actor_->close();
  streams_.abandon(std::make_shared<const DeviceClosed>(to_string(device_)));
}

namespace {

/// Throws what keeps a device of that id from running in this process.
void require_possible(DeviceId device) {
  if (device.ordinal < 0 || device.rank.value < 0) {
    throw UsageError(fmt::format("there is no device {}: rank and ordinal begin at 0", to_string(device)));
  }
  if (device.backend != Backend::host) {
    throw UsageError(fmt::format("{} cannot be started: this build has the host backend only", to_string(device)));
  }
  if (in_forked_child()) {
    throw DeviceClosed(to_string(device), "this process was forked from one that has devices; fork before, or exec");
  }
}

enum class Running : std::uint8_t { share, refuse };

/// Null where the device runs already, and that is refused.
std::shared_ptr<DeviceService> start_service(DeviceId device, const DeviceOptions& options, Running running) {
  require_possible(device);
  prepare_process();
  auto& devices = registry();
  const std::lock_guard lock(devices.mutex);
  if (devices.closed) throw DeviceClosed(to_string(device));
  auto& service = devices.devices[device];
  if (service) return running == Running::share ? service : nullptr;
  try {
    service = std::make_shared<DeviceService>(device, options);
  } catch (...) {
    devices.devices.erase(device);
    throw;
  }
  return service;
}

}  // namespace

std::shared_ptr<DeviceService> load_service(DeviceId device, DeviceOptions options) {
  return start_service(device, options, Running::share);
}

std::shared_ptr<DeviceService> register_service(DeviceId device, DeviceOptions options) {
  return start_service(device, options, Running::refuse);
}

std::shared_ptr<DeviceService> find_service(DeviceId device) {
  if (in_forked_child()) return nullptr;
  auto& devices = registry();
  const std::lock_guard lock(devices.mutex);
  const auto found = devices.devices.find(device);
  return found == devices.devices.end() ? nullptr : found->second;
}

}  // namespace detail

PageView doorbell_page() { return detail::bell_page().page.view(); }

std::size_t doorbell_offset(const Client& client) {
  return static_cast<std::size_t>(reinterpret_cast<std::byte*>(&client.doorbell()) - detail::bell_page().page.data());
}

void close_all_devices() noexcept {
  if (in_forked_child()) return;
  auto& devices = detail::registry();
  std::map<DeviceId, std::shared_ptr<detail::DeviceService>> closing;
  {
    const std::lock_guard lock(devices.mutex);
    devices.closed = true;
    detail::end_waiting_kernels();
    closing = devices.devices;
  }
  for (const auto& [id, service] : closing) service->close();
}

}  // namespace muster
