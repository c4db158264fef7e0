#include <pthread.h>
#include <spdlog/spdlog.h>

#include <atomic>

#include "muster/device_work.hpp"

namespace muster {

namespace {
std::atomic<bool> forked{false};
}

void prepare_process() {
  spdlog::default_logger_raw();  // made now, and not by two threads that fail at once
  static const int installed = pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
  static_cast<void>(installed);
}

bool in_forked_child() noexcept { return forked.load(std::memory_order_relaxed); }

}  // namespace muster
