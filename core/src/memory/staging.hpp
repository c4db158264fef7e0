#pragma once

#include <cstddef>
#include <memory>

#include "muster/bytes.hpp"

namespace muster::detail {

/// Moves bytes into locked memory. False, and nothing changed, where the limit is reached or the system refuses.
///
/// Locked memory is shared by the process and bounded by MUSTER_PINNED_LIMIT (bytes), else by half of what the system
/// lets this process lock. Blocks that are dropped are kept for the next request of their size class. Thread safe.
bool move_to_pinned(Bytes& bytes) noexcept;

/// Bytes of locked memory: handed out, and in all.
struct PinnedUse {
  std::size_t in_use = 0, reserved = 0, limit = 0;
};
PinnedUse pinned_use() noexcept;

}  // namespace muster::detail
