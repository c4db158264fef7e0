#pragma once

#include "launch_spec.hpp"
#include "mpirun_command.hpp"

namespace muster::launcher {

/// Starts the ranks, relays their output, forwards signals, and returns the status of the first rank that failed. No
/// process of the job is left when it returns.
int run_command(const LaunchSpec& spec, OutputTags tags);

}  // namespace muster::launcher
