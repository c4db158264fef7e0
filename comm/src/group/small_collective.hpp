#pragma once

#include "group/meeting.hpp"

namespace muster::detail {

/// Computes this member's result from the contributions that came with the meeting.
void finish_small(const Communicator& communicator, const CollectiveCall& call, const Meeting& meeting);

}  // namespace muster::detail
