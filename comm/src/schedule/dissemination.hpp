#pragma once

#include <algorithm>
#include <vector>

namespace muster::detail {

/// One round of an all-gather by dissemination.
struct DisseminationStep {
  int send_to = 0;    ///< gets what this node has of the first `blocks` nodes from itself on, cyclically
  int recv_from = 0;  ///< gives its own first `blocks`, which follow those that this node has
  int blocks = 0;
};

/// All-gather among `nodes` in ceil(log2(nodes)) rounds, any number of nodes. After the rounds node i holds the blocks
/// of i, i+1, ..., i+nodes-1 (mod nodes), in this order.
/// Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for all-to-all communications, IEEE TPDS 8(11), 1997.
/// For a power of two it exchanges as much as recursive doubling, in as many rounds.
inline std::vector<DisseminationStep> dissemination_schedule(int nodes, int node) {
  std::vector<DisseminationStep> steps;
  for (int distance = 1; distance < nodes; distance *= 2) {
    steps.push_back({(node - distance + nodes) % nodes, (node + distance) % nodes, std::min(distance, nodes - distance)});
  }
  return steps;
}

}  // namespace muster::detail
