#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "muster/device.hpp"

namespace muster::detail {

/// Who is in a group and where: the same on all ranks, since it follows from the world alone.
struct GroupShape {
  struct Member {
    DeviceId device;
    int host = 0;         ///< position in `hosts`
    int local_index = 0;  ///< position among the members of that host
    [[nodiscard]] RankId rank() const noexcept { return device.rank; }
  };
  std::vector<Member> members;
  std::vector<std::vector<int>> hosts;  ///< members by host, hosts by their first member
  std::vector<int> ranks;               ///< processes that have members, ascending
  int lanes = 1;                        ///< members per host that talk to other hosts: as many as every host has

  static GroupShape of(const std::vector<DeviceId>& devices, const std::function<int(RankId)>& host_of_rank) {
    GroupShape shape;
    std::vector<int> world_hosts;
    for (const DeviceId& device : devices) {
      const int world_host = host_of_rank(device.rank);
      auto known = std::find(world_hosts.begin(), world_hosts.end(), world_host);
      if (known == world_hosts.end()) {
        world_hosts.push_back(world_host);
        shape.hosts.emplace_back();
        known = std::prev(world_hosts.end());
      }
      const int host = static_cast<int>(known - world_hosts.begin());
      shape.hosts[host].push_back(static_cast<int>(shape.members.size()));
      shape.members.push_back({device, host, static_cast<int>(shape.hosts[host].size()) - 1});
      shape.ranks.push_back(device.rank.value);
    }
    std::sort(shape.ranks.begin(), shape.ranks.end());
    shape.ranks.erase(std::unique(shape.ranks.begin(), shape.ranks.end()), shape.ranks.end());
    std::size_t fewest = shape.members.size();
    for (const auto& host : shape.hosts) fewest = std::min(fewest, host.size());
    shape.lanes = static_cast<int>(fewest);
    return shape;
  }

  [[nodiscard]] int size() const noexcept { return static_cast<int>(members.size()); }
  [[nodiscard]] bool one_host() const noexcept { return hosts.size() == 1; }
  /// The member of `host` that serves `lane`.
  [[nodiscard]] int lane_member(int host, int lane) const noexcept { return hosts[host][lane]; }
  [[nodiscard]] std::vector<int> host_of_member() const {
    std::vector<int> found;
    for (const Member& member : members) found.push_back(member.host);
    return found;
  }
};

}  // namespace muster::detail
