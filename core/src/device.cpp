#include "muster/device.hpp"

#include <fmt/format.h>

namespace muster {

std::string_view name(Backend backend) noexcept {
  switch (backend) {
    case Backend::host:
      return "host";
    case Backend::cuda:
      return "cuda";
  }
  return "unknown";
}

std::string to_string(const DeviceId& device) {
  return fmt::format("{}:{}.{}", name(device.backend), device.rank.value, device.ordinal);
}

}  // namespace muster
