#include <cstring>
#include <deque>

#include "schedule/ring.hpp"
#include "transport/cross_host/lane.hpp"

namespace muster::detail {

namespace {

using Buffer = LocalPhase::Buffer;

/// The members of `host` whose blocks this lane carries.
std::vector<int> carried(const LanePart& part, int host) {
  std::vector<int> members;
  for (const int member : part.shape.hosts[host]) {
    if (part.shape.members[member].local_index % part.shape.lanes == part.lane) members.push_back(member);
  }
  return members;
}

}  // namespace

Progress ring_all_gather(LanePart& part) {
  const auto& call = part.call;
  const std::size_t block = call.block();
  const int hosts = static_cast<int>(part.shape.hosts.size());
  std::vector<std::byte*> sources(part.shape.members.size());
  for (const int member : part.phase.members()) {
    co_await until([&] { return (sources[member] = part.phase.find(member, Buffer::source)) != nullptr; });
  }
  if (part.lane >= 0) {
    const int next = part.partner((part.host + 1) % hosts), before = part.partner((part.host - 1 + hosts) % hosts);
    for (const RingStep& step : ring_schedule(hosts, part.host)) {
      std::deque<ucx::Request> moving;
      for (const int member : carried(part, step.recv_block)) {
        moving.push_back(part.receive(before, ucx::Channel::block, static_cast<std::uint32_t>(member),
                                      call.destination_data + member * block, block));
      }
      for (const int member : carried(part, step.send_block)) {
        const std::byte* from = step.send_block == part.host ? sources[member] : call.destination_data + member * block;
        moving.push_back(part.send(next, ucx::Channel::block, static_cast<std::uint32_t>(member), from, block));
      }
      co_await until([&moving] {
        while (!moving.empty() && moving.front().done()) moving.pop_front();
        return moving.empty();
      });
    }
    part.phase.reach(1);
  }
  for (const int member : part.phase.members()) {
    std::byte* own = call.destination_data + member * block;
    if (own != sources[member]) std::memcpy(own, sources[member], block);
  }
  for (int member = 0; member < part.shape.size(); ++member) {
    const auto& other = part.shape.members[member];
    const int lane = other.local_index % part.shape.lanes;
    if (other.host == part.host || lane == part.lane) continue;
    const int server = part.shape.lane_member(part.host, lane);
    co_await until([&] { return part.phase.reached(server, 1); });
    std::byte* found = nullptr;
    co_await until([&] { return (found = part.phase.find(server, Buffer::destination)) != nullptr; });
    std::memcpy(call.destination_data + member * block, found + member * block, block);
  }
  part.phase.reach(2);
  co_await until([&] { return part.phase.all_reached(2); });
}

}  // namespace muster::detail
