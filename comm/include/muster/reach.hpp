#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

/// How one rank's memory is reached from another.
enum class Reach : std::uint8_t {
  self,       ///< the same process
  direct,     ///< its pages can be mapped here: probed with data
  host_path,  ///< messages over UCX
};

std::string_view name(Reach reach) noexcept;

/// What was found for one peer, and why.
struct PeerReach {
  Reach reach = Reach::host_path;
  std::string reason;
};

}  // namespace muster
