#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace muster::detail {

/// Measurements by hardware and key: of this process, and of a file that all processes of a user share. Thread safe.
///
/// A file that cannot be read or written costs the sharing only; the log says so once.
class ThroughputCache {
 public:
  std::optional<double> find(const std::string& hardware, std::string_view key);
  void put(const std::string& hardware, std::string_view key, double value);

 private:
  void load();
  void store() const;

  std::mutex mutex_;
  bool loaded_ = false;
  std::map<std::pair<std::string, std::string>, double, std::less<>> values_;
};

ThroughputCache& throughput_cache();

}  // namespace muster::detail
