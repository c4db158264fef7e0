#include "server/records.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace muster::detail {

namespace {
const std::string& path() {
  static const auto* const text = [] {
    const char* value = std::getenv("MUSTER_RECORDS");
    return new std::string(value ? value : "");
  }();
  return *text;
}
std::atomic<bool> broken{false};
}  // namespace

bool records_on() noexcept { return !path().empty() && !broken.load(std::memory_order_relaxed); }

void append_record(std::string_view json_line) noexcept try {
  if (!records_on()) return;
  std::string line(json_line);
  line += '\n';
  const int file = ::open(path().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const bool written = file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int error = errno;
  if (file >= 0) ::close(file);
  if (written) return;
  if (!broken.exchange(true)) {
    spdlog::error("muster: cannot append to {} (MUSTER_RECORDS): {}; this process records nothing more", path(),
                  std::strerror(error));
  }
} catch (...) {
  broken.store(true);
}

}  // namespace muster::detail
