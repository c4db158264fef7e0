#pragma once

#include "driver/driver.hpp"

namespace muster::detail {

/// What this machine's cores are, as a device.
DeviceDescription describe_host(const DeviceOptions& options);

/// Threads that run a kernel's grid now, on a device with these options whose process may use `cores`.
int kernel_threads_of(const DeviceOptions& options, int cores) noexcept;

}  // namespace muster::detail
