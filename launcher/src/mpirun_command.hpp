#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch_spec.hpp"

namespace muster::launcher {

/// How mpirun presents what the ranks print.
enum class OutputTags : std::uint8_t { none, per_rank };

/// The command line of mpirun for a launch. `environment` holds `NAME=value` entries of this process; those that muster,
/// UCX and the sanitizers read are passed to other hosts. Throws std::invalid_argument for hosts that cannot be read.
std::vector<std::string> mpirun_command(const LaunchSpec& spec, OutputTags tags,
                                        const std::vector<std::string>& environment, bool as_root);

/// Slots in `a:2,b:2`; a host without a number has one. Throws std::invalid_argument.
int slots_of(const std::string& hosts);

}  // namespace muster::launcher
