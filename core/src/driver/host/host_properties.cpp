#include "driver/host/host_properties.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <limits>
#include <sstream>

#include "memory/page_space.hpp"

namespace muster {

namespace {
std::atomic<int> chosen_threads{0};
}

void set_kernel_threads(int threads) noexcept { chosen_threads.store(std::max(threads, 0)); }

namespace detail {

namespace {

int usable_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(CPU_COUNT(&set), 1) : 1;
}

/// The value of the first line of /proc/cpuinfo with this key, or nothing.
std::string cpu_value(std::string_view key) {
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

std::size_t cache_size(int name) {
  const long size = sysconf(name);
  return size > 0 ? static_cast<std::size_t>(size) : 0;
}

std::vector<std::string> extensions_of_interest() {
  std::vector<std::string> found;
  std::istringstream flags(cpu_value("flags") + " " + cpu_value("Features"));
  for (std::string flag; flags >> flag;) {
    for (const std::string_view wanted : {"sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_bf16",
                                          "avx512_fp16", "amx_bf16", "asimd", "sve", "bf16"}) {
      if (flag == wanted) found.push_back(flag);
    }
  }
  return found;
}

int vector_bytes(const std::vector<std::string>& extensions) {
  const auto has = [&](std::string_view wanted) { return std::ranges::find(extensions, wanted) != extensions.end(); };
  if (has("avx512f")) return 64;
  return has("avx") ? 32 : 16;
}

constexpr std::string_view architecture() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

constexpr std::uint32_t largest_block = 1024;
constexpr std::size_t shared_memory = std::size_t{64} << 10U;

}  // namespace

int kernel_threads_of(const DeviceOptions& options, int cores) noexcept {
  if (options.kernel_threads > 0) return options.kernel_threads;
  const int chosen = chosen_threads.load(std::memory_order_relaxed);
  return chosen > 0 ? std::min(chosen, cores) : cores;
}

DeviceDescription describe_host(const DeviceOptions& options) {
  DeviceDescription host;
  auto& properties = host.properties;
  properties.name = cpu_value("model name");
  if (properties.name.empty()) properties.name = fmt::format("{} cores", architecture());
  properties.cores = options.kernel_threads > 0 ? options.kernel_threads : usable_cores();
  properties.memory_bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  properties.memory_limit_bytes = options.memory_limit_bytes;
  properties.allocation_alignment = PageSpace::alignment;
  properties.l1_cache_bytes = cache_size(_SC_LEVEL1_DCACHE_SIZE);
  properties.l2_cache_bytes = cache_size(_SC_LEVEL2_CACHE_SIZE);
  properties.l3_cache_bytes = cache_size(_SC_LEVEL3_CACHE_SIZE);
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  properties.largest_grid = {most, most, most};
  properties.largest_block = largest_block;
  properties.shared_memory_bytes = shared_memory;

  host.target.architecture = architecture();
  host.target.extensions = extensions_of_interest();
  host.target.vector_bytes = vector_bytes(host.target.extensions);

  host.features.host_reads_memory = true;
  host.features.system_atomics = true;
  host.features.graphs = true;
  host.features.device_clock = true;
  host.features.dtypes.assign(all_dtypes.begin(), all_dtypes.end());

  host.identity = fmt::format("host/{}/{}/{} cores/{}", host.target.architecture, properties.name, properties.cores,
                              fmt::join(host.target.extensions, ","));
  return host;
}

}  // namespace detail
}  // namespace muster
