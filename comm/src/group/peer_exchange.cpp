// Memory that the members of a group share with each other's kernels.

#include <fmt/format.h>

#include "group/group_state.hpp"
#include "muster/client_group.hpp"
#include "transport/host/peer_pages.hpp"

namespace muster {

namespace {

/// What a member tells of its memory.
struct SharedPlace {
  std::uint64_t page = 0, offset = 0, size = 0;
};

}  // namespace

std::vector<PeerHandle> ClientGroup::exchange_peers(std::span<const PeerHandle> mine) const {
  const auto clients = local_clients();
  if (mine.size() != clients.size()) {
    throw UsageError(
        fmt::format("{} handles were given for {} local members; give one for each", mine.size(), clients.size()));
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (mine[i].service_id() != clients[i].service_id()) {
      throw UsageError(fmt::format("{} can exchange memory of its own only, not of {}", to_string(clients[i].service_id()),
                                   to_string(mine[i].service_id())));
    }
  }
  const auto& members = state_->shape().members;
  Handle heard;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const MemoryView view = memory_of(mine[i]);
    state_->lend(view.page);  // before the others hear of it
    const SharedPlace own{view.page, view.page_offset, mine[i].size()};
    const Handle told = clients[i].create_from_slice<SharedPlace>(std::span(&own, 1));
    const Handle all = clients[i].empty(members.size() * sizeof(SharedPlace));
    all_gather(clients[i], told, all);
    clients[i].flush();
    if (i == 0) heard = all;
  }
  const Client& client = clients.front();
  const Bytes bytes = client.read(heard);
  const auto places = bytes.as<SharedPlace>();

  const Deadline deadline = Deadline::after(state_->fabric().timeout);
  std::vector<PeerHandle> handles;
  std::size_t next_local = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const SharedPlace& place = places[i];
    const RankId rank = members[i].rank();
    if (rank == client.device_id().rank) {
      handles.push_back(mine[next_local++]);
      continue;
    }
    if (members[i].host != state_->own_host()) {
      handles.emplace_back();
      continue;
    }
    std::shared_ptr<detail::MappedPeerPage> mapping;
    const auto arrived = [&] {
      mapping = state_->fabric().pages->hold(rank, place.page);
      return mapping != nullptr || state_->broken() != nullptr;
    };
    if (!client.help_until(arrived, deadline)) {
      throw TimedOut(fmt::format("memory of {} did not arrive before the deadline", to_string(members[i].device)));
    }
    if (!mapping) state_->broken()->raise();
    const MemoryView there{mapping->data() + place.offset, place.page, static_cast<std::size_t>(place.offset)};
    handles.push_back(import_peer_memory({members[i].device}, there, place.size, std::move(mapping)));
  }
  return handles;
}

}  // namespace muster
