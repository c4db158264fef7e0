#pragma once

#include "group/local_phase.hpp"
#include "group/progress.hpp"

namespace muster::detail {

/// A large collective whose members are all on one host: each member reads what it needs from the others' memory, and
/// writes its own.
Progress host_collective(Communicator& communicator, const CollectiveCall& call, const Meeting& meeting);

/// Elements per cache line, which two shards must not share.
std::size_t shard_grain(const CollectiveCall& call) noexcept;

}  // namespace muster::detail
