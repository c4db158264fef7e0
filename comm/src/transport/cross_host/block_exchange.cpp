#include <cstring>
#include <deque>

#include "transport/cross_host/lane.hpp"

namespace muster::detail {

namespace {

using Buffer = LocalPhase::Buffer;

Progress finish_all(std::deque<ucx::Request>& moving, std::size_t left) {
  co_await until([&moving, left] {
    while (moving.size() > left && moving.front().done()) moving.pop_front();
    return moving.size() <= left;
  });
}

void copy_block(std::byte* destination, const std::byte* source, std::size_t size) {
  if (destination != source) std::memcpy(destination, source, size);
}

}  // namespace

Progress gather_blocks(LanePart& part) {
  const auto& call = part.call;
  const int root = call.root();
  const bool beside_root = part.shape.members[root].host == part.host;
  std::deque<ucx::Request> moving;
  if (part.me == root) {
    for (int member = 0; member < part.shape.size(); ++member) {
      std::byte* place = call.destination_data + member * call.block();
      if (part.shape.members[member].host != part.host) {
        moving.push_back(part.receive(member, ucx::Channel::block, 0, place, call.block()));
        continue;
      }
      std::byte* source = nullptr;
      co_await until([&] { return (source = part.phase.find(member, Buffer::source)) != nullptr; });
      copy_block(place, source, call.block());
    }
    co_await finish_all(moving, 0);
    part.phase.reach(1);
  } else if (beside_root) {
    co_await until([&] { return part.phase.reached(root, 1); });
  } else {
    moving.push_back(part.send(root, ucx::Channel::block, 0, call.source_data, call.block()));
    co_await finish_all(moving, 0);
  }
}

Progress scatter_blocks(LanePart& part) {
  const auto& call = part.call;
  const int root = call.root();
  std::deque<ucx::Request> moving;
  if (part.me == root) {
    for (int member = 0; member < part.shape.size(); ++member) {
      if (part.shape.members[member].host == part.host) continue;
      moving.push_back(part.send(member, ucx::Channel::block, 0, call.source_data + member * call.block(), call.block()));
    }
    copy_block(call.destination_data, call.source_data + root * call.block(), call.block());
    part.phase.reach(1);
    co_await finish_all(moving, 0);
    co_await until([&] { return part.phase.all_reached(1); });
  } else if (part.shape.members[root].host == part.host) {
    std::byte* source = nullptr;
    co_await until([&] { return (source = part.phase.find(root, Buffer::source)) != nullptr; });
    copy_block(call.destination_data, source + part.me * call.block(), call.block());
    part.phase.reach(1);
  } else {
    moving.push_back(part.receive(root, ucx::Channel::block, 0, call.destination_data, call.block()));
    co_await finish_all(moving, 0);
  }
}

Progress exchange_blocks(LanePart& part) {
  const auto& call = part.call;
  constexpr std::size_t in_flight = 16;
  // In place the blocks to send are in scratch memory by now; each member decides for itself.
  const std::byte* own = call.scratch.valid() ? call.scratch_data : call.source_data;
  std::deque<ucx::Request> moving;
  const int members = part.shape.size();
  for (int step = 0; step < members; ++step) {
    const int to = (part.me + step) % members, from = (part.me - step + members) % members;
    if (part.shape.members[from].host != part.host) {
      moving.push_back(
          part.receive(from, ucx::Channel::block, 0, call.destination_data + from * call.block(), call.block()));
    } else {
      std::byte* source = nullptr;
      co_await until([&] {
        return (source = part.phase.find(from, part.phase.has_scratch(from) ? Buffer::scratch : Buffer::source)) != nullptr;
      });
      std::memcpy(call.destination_data + from * call.block(), source + part.me * call.block(), call.block());
    }
    if (part.shape.members[to].host != part.host) {
      moving.push_back(part.send(to, ucx::Channel::block, 0, own + to * call.block(), call.block()));
    }
    co_await finish_all(moving, in_flight);
  }
  co_await finish_all(moving, 0);
  part.phase.reach(1);
  co_await until([&] { return part.phase.all_reached(1); });
}

}  // namespace muster::detail
