#include <map>
#include <mutex>
#include <string>

#include "muster/kernel_language_host.hpp"

namespace muster {

namespace {
struct Sources {
  std::mutex mutex;
  std::map<std::string, std::string_view, std::less<>> texts;
};
Sources& sources() {
  static auto* const instance = new Sources;
  return *instance;
}
}  // namespace

bool register_kernel_source(std::string_view file, std::string_view text) {
  auto& known = sources();
  const std::lock_guard lock(known.mutex);
  known.texts.insert_or_assign(std::string(file), text);
  return true;
}

std::string_view kernel_source(std::string_view file) noexcept {
  auto& known = sources();
  const std::lock_guard lock(known.mutex);
  const auto found = known.texts.find(file);
  return found == known.texts.end() ? std::string_view{} : found->second;
}

}  // namespace muster
