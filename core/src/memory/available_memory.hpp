#pragma once

#include <cstddef>

namespace muster::detail {

/// Bytes that this process could still reserve without the kernel ending a process for it: what the system has left, or
/// its control group if that is less. The largest number where neither can be read.
///
/// A memfd has no limit of its own: fallocate(2) on it goes on until the kernel kills somebody.
std::size_t available_memory_bytes();

}  // namespace muster::detail
