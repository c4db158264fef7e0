#pragma once

#include <vector>

namespace muster::detail {

/// Consecutive members that are on one host: what that host can reduce on its own without leaving the order.
struct RankRun {
  int host = 0;
  std::vector<int> members;  ///< indices in the group, ascending
};

/// Splits members 0, 1, ... into maximal runs of the same host. A reduction that passes from run to run adds the members
/// in their order, whatever the placement.
inline std::vector<RankRun> rank_runs(const std::vector<int>& host_of_member) {
  std::vector<RankRun> runs;
  for (int member = 0; member < static_cast<int>(host_of_member.size()); ++member) {
    if (runs.empty() || runs.back().host != host_of_member[member]) runs.push_back({host_of_member[member], {}});
    runs.back().members.push_back(member);
  }
  return runs;
}

/// One run per host, hosts by their first member: the order of hosts first. For operations where order does not show.
inline std::vector<RankRun> host_runs(const std::vector<int>& host_of_member) {
  std::vector<RankRun> runs;
  for (int member = 0; member < static_cast<int>(host_of_member.size()); ++member) {
    const int host = host_of_member[member];
    bool known = false;
    for (RankRun& run : runs) {
      if (run.host != host) continue;
      run.members.push_back(member);
      known = true;
    }
    if (!known) runs.push_back({host, {member}});
  }
  return runs;
}

/// The order in which a result goes from the last run's host to all hosts, one after another. Starts with that host.
inline std::vector<int> return_chain(const std::vector<RankRun>& runs) {
  std::vector<int> chain;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    bool known = false;
    for (const int host : chain) known = known || host == run->host;
    if (!known) chain.push_back(run->host);
  }
  return chain;
}

}  // namespace muster::detail
