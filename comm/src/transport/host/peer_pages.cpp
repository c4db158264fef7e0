#include "transport/host/peer_pages.hpp"

#include <spdlog/spdlog.h>

#include "bootstrap/message.hpp"
#include "muster/device_work.hpp"

namespace muster::detail {

void PeerPages::install() {
  links_.on(MessageType::page, [this](RankId from, const std::string& payload, UniqueFd descriptor) {
    MessageReader reader(payload);
    const auto id = reader.get<std::uint64_t>();
    auto page = std::make_shared<MappedPeerPage>(descriptor.get(), reader.get<std::uint64_t>());
    {
      const std::lock_guard lock(mutex_);
      mapped_.insert_or_assign(key(from, id), std::move(page));
    }
    if (on_arrival_) on_arrival_();
  });
  links_.on(MessageType::page_released, [this](RankId from, const std::string& payload, UniqueFd) {
    const auto id = MessageReader(payload).get<std::uint64_t>();
    const std::lock_guard lock(mutex_);
    mapped_.erase(key(from, id));
  });
  on_page_released([weak = weak_from_this()](std::uint64_t id) {
    if (const auto self = weak.lock()) self->released(id);
  });
}

void PeerPages::lend(std::uint64_t page_id, RankId peer) {
  if (peer == rank_) return;
  const std::lock_guard lock(mutex_);
  if (!lent_[page_id].insert(peer.value).second) return;
  const PageView page = page_of(page_id);
  links_.send(peer, MessageType::page, MessageWriter().put(page.id).put(std::uint64_t{page.size}).take(), page.descriptor);
}

std::byte* PeerPages::find(RankId peer, std::uint64_t page_id) {
  const std::lock_guard lock(mutex_);
  const auto found = mapped_.find(key(peer, page_id));
  return found == mapped_.end() ? nullptr : found->second->data();
}

std::shared_ptr<MappedPeerPage> PeerPages::hold(RankId peer, std::uint64_t page_id) {
  const std::lock_guard lock(mutex_);
  const auto found = mapped_.find(key(peer, page_id));
  return found == mapped_.end() ? nullptr : found->second;
}

void PeerPages::forget(RankId peer) {
  const std::lock_guard lock(mutex_);
  for (auto& [page, peers] : lent_) peers.erase(peer.value);
}

void PeerPages::released(std::uint64_t page_id) {
  std::set<int> peers;
  {
    const std::lock_guard lock(mutex_);
    const auto found = lent_.find(page_id);
    if (found == lent_.end()) return;
    peers = std::move(found->second);
    lent_.erase(found);
  }
  for (const int peer : peers) {
    links_.send(RankId{peer}, MessageType::page_released, MessageWriter().put(page_id).take());
  }
}

}  // namespace muster::detail
