#pragma once

#include <vector>

namespace muster::detail {

/// A node's place in a broadcast tree.
struct TreePlace {
  int parent = -1;            ///< -1 at the root
  std::vector<int> children;  ///< in the order of sending: the one with the largest subtree first
};

/// Binomial tree over `nodes` with the given root: ceil(log2(nodes)) rounds, any number of nodes.
inline TreePlace binomial_tree(int nodes, int node, int root) {
  TreePlace place;
  const int relative = (node - root + nodes) % nodes;
  int bit = 1;
  while (bit < nodes && (relative & bit) == 0) bit <<= 1;
  if (relative != 0) place.parent = ((relative - bit) + root) % nodes;
  for (int child = bit >> 1; child > 0; child >>= 1) {
    if (relative + child < nodes) place.children.push_back((relative + child + root) % nodes);
  }
  return place;
}

}  // namespace muster::detail
