#pragma once

#include <muster/client.hpp>

#include <atomic>

namespace muster::test {

/// A host device that no other test of this program uses.
inline Client new_device(DeviceOptions options = {}) {
  static std::atomic<int> next{100};
  return Client::load({Backend::host, {0}, next++}, options);
}

}  // namespace muster::test
