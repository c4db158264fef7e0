#pragma once

#include <vector>

namespace muster::detail {

/// One step of a ring all-gather among nodes.
struct RingStep {
  int send_block = 0;  ///< goes to (node + 1) mod nodes
  int recv_block = 0;  ///< comes from (node - 1) mod nodes
};

/// All-gather in nodes - 1 steps; each step forwards what the one before brought, so that every link carries each block
/// once. Bandwidth optimal: Chan, Heimlich, Purkayastha, van de Geijn: Collective communication, CCPE 19(13), 2007.
inline std::vector<RingStep> ring_schedule(int nodes, int node) {
  std::vector<RingStep> steps;
  for (int step = 0; step + 1 < nodes; ++step) {
    steps.push_back({(node - step + nodes) % nodes, (node - step - 1 + nodes) % nodes});
  }
  return steps;
}

}  // namespace muster::detail
