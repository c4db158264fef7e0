#include "topology/host_card.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <random>

#include "bootstrap/message.hpp"

namespace muster::detail {

namespace {

/// Cores that the process is bound to, or all that it may use.
int usable_cores() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return 1;
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(raw, &hwloc_topology_destroy);
  if (hwloc_topology_load(raw) != 0) return 1;
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> bound(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  if (hwloc_get_cpubind(raw, bound.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_copy(bound.get(), hwloc_topology_get_allowed_cpuset(raw));
  }
  const int cores = hwloc_bitmap_weight(bound.get());
  return cores > 0 ? cores : 1;
}

}  // namespace

HostCard own_host_card() {
  HostCard card;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  card.host_name = name.data();
  std::ifstream("/proc/sys/kernel/random/boot_id") >> card.kernel;
  card.cores = usable_cores();
  std::random_device source;
  card.secret = fmt::format("{:08x}{:08x}{:08x}{:08x}", source(), source(), source(), source());
  return card;
}

std::string HostCard::pack() const {
  MessageWriter writer;
  writer.put(std::string_view(host_name)).put(std::string_view(kernel)).put(cores).put(devices);
  writer.put(std::string_view(secret)).put(std::string_view(address.unix_name)).put(address.port);
  writer.put(static_cast<std::uint32_t>(address.interfaces.size()));
  for (const std::string& each : address.interfaces) writer.put(std::string_view(each));
  return writer.take();
}

HostCard HostCard::unpack(std::string_view bytes) {
  MessageReader reader(bytes);
  HostCard card;
  card.host_name = reader.text();
  card.kernel = reader.text();
  card.cores = reader.get<int>();
  card.devices = reader.get<int>();
  card.secret = reader.text();
  card.address.unix_name = reader.text();
  card.address.port = reader.get<std::uint16_t>();
  const auto count = reader.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) card.address.interfaces.push_back(reader.text());
  return card;
}

}  // namespace muster::detail
