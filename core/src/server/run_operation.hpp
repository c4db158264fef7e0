#pragma once

#include "muster/device_work.hpp"

namespace muster::detail {

/// One step of an operation, with what surrounds it: something tainted that it reads, or memory that it writes and that was
/// never allocated, keeps it from starting; what it writes is cleared of failures when it is done, and tainted when it
/// fails. True when it is over.
bool run_step(StreamOperation& operation, bool started);

/// The operation will not run, or ends here: taints what it writes.
void end_with(StreamOperation& operation, const Failure& failure);

}  // namespace muster::detail
