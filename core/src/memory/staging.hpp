#pragma once

#include <cstddef>
#include <memory>

#include "muster/bytes.hpp"
#include "muster/memory_report.hpp"

namespace muster::detail {

/// Moves bytes into locked memory. False, and nothing changed, where the limit is reached or the system refuses.
///
/// Locked memory is shared by the process and bounded by MUSTER_PINNED_LIMIT (bytes), else by half of what the system
/// lets this process lock. Blocks that are dropped are kept for the next request of their size class. Thread safe.
bool move_to_pinned(Bytes& bytes) noexcept;

PinnedMemory pinned_memory() noexcept;

}  // namespace muster::detail
