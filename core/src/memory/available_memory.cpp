#include "memory/available_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace muster::detail {

namespace {

constexpr std::size_t unknown = std::numeric_limits<std::size_t>::max();

std::size_t available_on_system() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("MemAvailable:", 0) == 0) return std::stoull(line.substr(13)) * 1024;
  }
  return unknown;
}

/// A number in a file; `unknown` for `max` and for no file.
std::size_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::size_t number = 0;
  return file >> number ? number : unknown;
}

/// The tightest of this process's control group and those above it (version 2).
std::size_t available_in_control_groups() {
  std::ifstream file("/proc/self/cgroup");
  std::string group;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("0::", 0) == 0) group = line.substr(3);
  }
  std::size_t least = unknown;
  while (!group.empty() && group != "/") {
    const std::string folder = "/sys/fs/cgroup" + group;
    const std::size_t limit = number_in(folder + "/memory.max"), used = number_in(folder + "/memory.current");
    if (limit != unknown && used != unknown) least = std::min(least, limit > used ? limit - used : 0);
    group.erase(group.rfind('/'));
  }
  return least;
}

}  // namespace

std::size_t available_memory_bytes() { return std::min(available_on_system(), available_in_control_groups()); }

}  // namespace muster::detail
