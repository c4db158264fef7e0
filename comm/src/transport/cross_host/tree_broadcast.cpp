#include <cstring>
#include <deque>

#include "schedule/binomial_tree.hpp"
#include "schedule/shard.hpp"
#include "transport/cross_host/lane.hpp"
#include "transport/host/host_collective.hpp"

namespace muster::detail {

namespace {

using Buffer = LocalPhase::Buffer;

/// Takes the lane's shard from the parent, segment by segment, and passes each on to the children.
Progress carry(LanePart& part, const TreePlace& place, std::byte* shard, std::size_t size) {
  const std::size_t segments = (size + segment_bytes - 1) / segment_bytes;
  const auto length = [size](std::size_t i) { return std::min(segment_bytes, size - i * segment_bytes); };
  constexpr std::size_t ahead = 4;
  std::deque<ucx::Request> receives, sends;
  std::size_t asked = 0;
  for (std::size_t i = 0; i < segments; ++i) {
    if (place.parent >= 0) {
      for (; asked < segments && asked < i + ahead; ++asked) {
        receives.push_back(part.receive(part.partner(place.parent), ucx::Channel::forward, 0, shard + asked * segment_bytes,
                                        length(asked)));
      }
      ucx::Request& received = receives.front();
      co_await until([&received] { return received.done(); });
      receives.pop_front();
    }
    for (const int child : place.children) {
      sends.push_back(part.send(part.partner(child), ucx::Channel::forward, 0, shard + i * segment_bytes, length(i)));
    }
    while (sends.size() > ahead * place.children.size()) {
      ucx::Request& sent = sends.front();
      co_await until([&sent] { return sent.done(); });
      sends.pop_front();
    }
  }
  while (!sends.empty()) {
    ucx::Request& sent = sends.front();
    co_await until([&sent] { return sent.done(); });
    sends.pop_front();
  }
}

}  // namespace

Progress tree_broadcast(LanePart& part) {
  const auto& call = part.call;
  const int root_host = part.shape.members[call.root()].host;
  const auto shard = [&](int lane) {
    return shard_of(call.block(), static_cast<std::size_t>(part.shape.lanes), static_cast<std::size_t>(lane), 64);
  };
  std::byte* root_source = nullptr;
  if (part.host == root_host) {
    co_await until([&] { return (root_source = part.phase.find(call.root(), Buffer::source)) != nullptr; });
  }
  if (part.lane >= 0) {
    const TreePlace place = binomial_tree(static_cast<int>(part.shape.hosts.size()), part.host, root_host);
    const Shard own = shard(part.lane);
    std::byte* at = (root_source ? root_source : call.destination_data) + own.begin;
    co_await carry(part, place, at, own.count);
    part.phase.reach(1);
  }
  if (root_source) {
    if (root_source != call.destination_data) std::memcpy(call.destination_data, root_source, call.block());
  } else {
    for (int lane = 0; lane < part.shape.lanes; ++lane) {
      if (lane == part.lane) continue;
      const int server = part.shape.lane_member(part.host, lane);
      co_await until([&] { return part.phase.reached(server, 1); });
      std::byte* found = nullptr;
      co_await until([&] { return (found = part.phase.find(server, Buffer::destination)) != nullptr; });
      const Shard piece = shard(lane);
      if (piece.count != 0) std::memcpy(call.destination_data + piece.begin, found + piece.begin, piece.count);
    }
  }
  part.phase.reach(2);
  co_await until([&] { return part.phase.all_reached(2); });
}

}  // namespace muster::detail
