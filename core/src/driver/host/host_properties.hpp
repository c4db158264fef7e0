#pragma once

#include "driver/driver.hpp"

namespace muster::detail {

/// What this machine's cores are, as a device.
DeviceDescription describe_host(const DeviceOptions& options);

/// Threads that run a kernel's grid on a device with these options.
int kernel_threads_of(const DeviceOptions& options) noexcept;

}  // namespace muster::detail
