#pragma once

#include "group/local_phase.hpp"
#include "group/progress.hpp"
#include "transport/ucx/tag.hpp"
#include "transport/ucx/worker.hpp"

namespace muster::detail {

/// What a member needs for its part of a large collective over several hosts. On each host as many members as every host
/// has serve a lane each: they carry the same shard between the hosts, and share it with their host afterwards.
struct LanePart {
  Communicator& communicator;
  const CollectiveCall& call;
  LocalPhase phase;
  const GroupShape& shape;
  int me;    ///< member
  int host;  ///< of this member
  int lane;  ///< -1 for a member that only takes part on its host

  LanePart(Communicator& own, const CollectiveCall& of_call, const Meeting& meeting)
      : communicator(own),
        call(of_call),
        phase(own, of_call, meeting),
        shape(own.group.shape()),
        me(own.index),
        host(own.group.own_host()),
        lane(own.local_index < own.group.shape().lanes ? own.local_index : -1) {}

  /// The member that serves this lane on another host.
  [[nodiscard]] int partner(int other_host) const { return shape.lane_member(other_host, lane); }

  ucx::Request send(int member, ucx::Channel channel, std::uint32_t step, const void* data, std::size_t size) const {
    auto& group = communicator.group;
    const RankId rank = shape.members[member].rank();
    return group.fabric().ucx->send(rank, ucx::tag(group.number_of(rank), member, me, channel, step), data, size);
  }
  ucx::Request receive(int member, ucx::Channel channel, std::uint32_t step, void* data, std::size_t size) const {
    auto& group = communicator.group;
    return group.fabric().ucx->receive(ucx::tag(group.number(), me, member, channel, step), data, size);
  }
};

/// all_reduce, reduce and reduce_scatter: partial results pass from run to run of members on one host, in the order of
/// the members, in segments; the result goes back to those who need it.
Progress ordered_reduction(LanePart& part);
/// broadcast: each lane carries its shard down a binomial tree of hosts, in segments.
Progress tree_broadcast(LanePart& part);
/// all_gather: each lane carries its members' blocks around the ring of hosts.
Progress ring_all_gather(LanePart& part);
/// gather, scatter and all_to_all: blocks go straight from member to member.
Progress gather_blocks(LanePart& part);
Progress scatter_blocks(LanePart& part);
Progress exchange_blocks(LanePart& part);

/// A large collective whose members are on several hosts.
Progress cross_host_collective(Communicator& communicator, const CollectiveCall& call, const Meeting& meeting);

/// Bytes that travel as one message of a pipeline.
inline constexpr std::size_t segment_bytes = std::size_t{256} << 10U;

}  // namespace muster::detail
