#include "server/launch_monitor.hpp"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>

namespace muster::detail {

void LaunchMonitor::update() noexcept {
  active_.store(level_ != ProfilingLevel::off || !observers_.empty(), std::memory_order_release);
}

void LaunchMonitor::set_level(ProfilingLevel level) noexcept {
  const std::lock_guard lock(mutex_);
  level_ = level;
  update();
}

void LaunchMonitor::add(std::weak_ptr<LaunchObserver> observer) {
  const std::lock_guard lock(mutex_);
  std::erase_if(observers_, [](const auto& each) { return each.expired(); });
  observers_.push_back(std::move(observer));
  update();
}

std::vector<std::shared_ptr<LaunchObserver>> LaunchMonitor::observers() const {
  std::vector<std::shared_ptr<LaunchObserver>> alive;
  const std::lock_guard lock(mutex_);
  for (const auto& each : observers_) {
    if (auto observer = each.lock()) alive.push_back(std::move(observer));
  }
  return alive;
}

bool LaunchMonitor::wants_timing(const KernelId& kernel) const {
  {
    const std::lock_guard lock(mutex_);
    if (level_ >= ProfilingLevel::basic) return true;
  }
  const auto asked = observers();
  return std::any_of(asked.begin(), asked.end(), [&](const auto& observer) { return observer->wants_timing(kernel); });
}

void LaunchMonitor::launched(const LaunchRecord& record) {
  ProfilingLevel level{};
  {
    const std::lock_guard lock(mutex_);
    level = level_;
  }
  for (const auto& observer : observers()) observer->launched(record);
  if (level == ProfilingLevel::off) return;
  std::string line = fmt::format("{} {}", to_string(record.device), record.kernel.name);
  if (level >= ProfilingLevel::basic) {
    line += record.duration ? fmt::format(" {:.3f} us", static_cast<double>(record.duration->count()) / 1e3)
                            : std::string(" (not timed)");
  }
  if (level >= ProfilingLevel::medium) {
    line += fmt::format(" [{}, {}, {}]", record.count.x, record.count.y, record.count.z);
  }
  if (level >= ProfilingLevel::full) {
    line += fmt::format(" {} ({} bytes)", record.kernel.variant, fmt::join(record.buffer_bytes, ", "));
  }
  spdlog::info("muster: {}", line);
}

}  // namespace muster::detail
