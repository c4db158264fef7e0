#pragma once

#include <string>
#include <string_view>

#include "bootstrap/peer_links.hpp"

namespace muster::detail {

/// What a rank tells the others about itself when the world forms.
struct HostCard {
  std::string host_name;
  std::string kernel;  ///< identity of the running kernel: equal on one machine, whatever the containers
  int cores = 1;       ///< that this process may run on
  int devices = 1;
  std::string secret;  ///< rank 0's is the job's
  PeerLinks::Address address;

  [[nodiscard]] std::string pack() const;
  static HostCard unpack(std::string_view bytes);
};

/// This host, as the calling process sees it.
HostCard own_host_card();

}  // namespace muster::detail
