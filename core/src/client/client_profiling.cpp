// Profiling windows of Client, exclusive use, and measurements.

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "muster/client.hpp"
#include "server/device_service.hpp"
#include "server/throughput_cache.hpp"

namespace muster {

using detail::ProfileWindow;
using detail::WindowEdge;

namespace {

void enqueue_edge(detail::DeviceService& service, const std::shared_ptr<ProfileWindow>& window, WindowEdge edge) {
  service.actor()->submit(make_device_task([service = &service, window, edge](DeviceContext&) {
    auto& server = service->server();
    server.enqueue(window->stream(), server.stream(window->stream()).make_window_edge(window, edge));
  }));
}

}  // namespace

ProfileToken Client::profile_start() const {
  refuse_while_capturing("profile_start");
  auto window = std::make_shared<ProfileWindow>(stream(), service_->actor());
  enqueue_edge(*service_, window, WindowEdge::begin);
  return ProfileToken(std::move(window));
}

Future<ProfileDuration> Client::profile_end(const ProfileToken& token) const {
  refuse_while_capturing("profile_end");
  if (!token.window()->close()) throw UsageError("the profiling window was ended before; start another");
  enqueue_edge(*service_, token.window(), WindowEdge::end);
  service_->actor()->flush();
  return Future<ProfileDuration>(token.window()->result());
}

void Client::profile_abandon(const ProfileToken& token) const {
  if (!token.window()->close()) return;
  try {
    enqueue_edge(*service_, token.window(), WindowEdge::abandon);
  } catch (const DeviceClosed&) {
    // Then nothing is timed any more.
  }
}

void Client::hold(Deadline deadline) const {
  if (service_->modes().any_capturing()) {
    throw UsageError("the device cannot be held while a stream of it records a graph; stop the capture first");
  }
  if (!service_->actor()->hold(deadline)) {
    throw TimedOut(fmt::format("device {} was held by another thread until the deadline", to_string(device_id())));
  }
  try {
    service_->actor()->submit_blocking([] {});
    if (service_->actor()->help_until([&] { return !service_->busy(); }, deadline)) return;
    throw TimedOut(
        fmt::format("device {} did not finish its work before the deadline, so it cannot be held", to_string(device_id())));
  } catch (...) {
    service_->actor()->release();
    throw;
  }
}

void Client::release() const noexcept { service_->actor()->release(); }

ProfileDuration Client::logged(std::string_view name, ProfileDuration duration) const {
  if (!name.empty()) {
    spdlog::info("muster: {} {}: {}", to_string(device_id()), name,
                 duration ? fmt::format("{:.3f} us", static_cast<double>(duration->count()) / 1e3) : "no measurement");
  }
  return duration;
}

double Client::measure_throughput(std::string_view key, const std::function<double(const Client&)>& probe) const {
  auto& cache = detail::throughput_cache();
  if (const auto known = cache.find(hardware_identity(), key)) return *known;
  compile_queued();
  return exclusive([&] {
    // Another thread may have measured it meanwhile.
    if (const auto known = cache.find(hardware_identity(), key)) return *known;
    const double measured = probe(*this);
    cache.put(hardware_identity(), key, measured);
    return measured;
  });
}

std::vector<std::size_t> Client::io_optimized_vector_sizes(std::size_t element_size) const {
  if (element_size == 0) throw UsageError("the element size is 0 bytes; give the size of one element");
  std::vector<std::size_t> sizes;
  for (auto bytes = static_cast<std::size_t>(target_properties().vector_bytes); bytes > element_size; bytes /= 2) {
    if (bytes % element_size == 0) sizes.push_back(bytes / element_size);
  }
  sizes.push_back(1);
  return sizes;
}

}  // namespace muster
