#include "server/throughput_cache.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace muster::detail {

namespace {

std::filesystem::path folder() {
  if (const char* chosen = std::getenv("MUSTER_CACHE")) return chosen;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return std::filesystem::path(cache) / "muster";
  if (const char* home = std::getenv("HOME")) return std::filesystem::path(home) / ".cache" / "muster";
  return {};
}
std::filesystem::path file() { return folder().empty() ? std::filesystem::path{} : folder() / "throughput.json"; }

}  // namespace

ThroughputCache& throughput_cache() {
  static auto* const instance = new ThroughputCache;
  return *instance;
}

void ThroughputCache::load() {
  if (std::exchange(loaded_, true) || file().empty()) return;
  std::ifstream stream(file());
  if (!stream) return;
  // One that is damaged is as good as none, and is written anew.
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  if (!json.is_object()) return;
  for (const auto& [hardware, keys] : json.items()) {
    if (!keys.is_object()) continue;
    for (const auto& [key, value] : keys.items()) {
      if (value.is_number()) values_.emplace(std::pair(hardware, key), value.get<double>());
    }
  }
}

void ThroughputCache::store() const {
  if (file().empty()) return;
  nlohmann::json json;
  for (const auto& [key, value] : values_) json[key.first][key.second] = value;
  const auto fresh = file().string() + "." + std::to_string(getpid());
  std::error_code error;
  std::filesystem::create_directories(folder(), error);
  std::ofstream stream(fresh);
  stream << json.dump(1) << '\n';
  stream.close();
  // Renamed into place, so that no process reads half a file.
  if (stream) std::filesystem::rename(fresh, file(), error);
  if (!stream || error) {
    static const bool told = [&] {
      spdlog::warn("muster: measurements cannot be kept in {}: {}; set MUSTER_CACHE to a folder that can be written",
                   file().string(), error ? error.message() : "it cannot be written");
      return true;
    }();
    static_cast<void>(told);
    std::filesystem::remove(fresh, error);
  }
}

std::optional<double> ThroughputCache::find(const std::string& hardware, std::string_view key) {
  const std::lock_guard lock(mutex_);
  load();
  const auto found = values_.find(std::pair(hardware, std::string(key)));
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

void ThroughputCache::put(const std::string& hardware, std::string_view key, double value) {
  const std::lock_guard lock(mutex_);
  load();
  values_.insert_or_assign(std::pair(hardware, std::string(key)), value);
  store();
}

}  // namespace muster::detail
