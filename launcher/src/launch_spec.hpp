#pragma once

#include <string>
#include <vector>

namespace muster::launcher {

/// What to start, and where. A plain value, parsed once.
struct LaunchSpec {
  int ranks = 0;             ///< 0: one per slot of `hosts`, or one
  int devices_per_rank = 0;  ///< 0: the program's own choice
  std::string hosts;         ///< `a:2,b:2`, or empty for this host
  std::string agent;         ///< command that starts something on another host, or empty for ssh
  std::vector<std::string> program;
};

}  // namespace muster::launcher
