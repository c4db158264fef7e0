#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>

#include "bootstrap/peer_links.hpp"
#include "transport/host/mapped_peer_page.hpp"

namespace muster::detail {

/// Pages of device memory that ranks of one host lend each other. The owner hands a page to a peer before it names it in
/// a control page; the I/O thread maps it. Page ids are never reused, so a mapping is never a wrong one.
class PeerPages : public std::enable_shared_from_this<PeerPages> {
 public:
  PeerPages(PeerLinks& links, RankId rank) : links_(links), rank_(rank) {}

  /// Installs the handlers; before links.open().
  void install();
  /// `on_arrival` is called on the I/O thread when a page was mapped.
  void set_on_arrival(std::function<void()> on_arrival) { on_arrival_ = std::move(on_arrival); }

  /// Makes sure that `peer` gets this page of ours. Does not wait. Any thread.
  void lend(std::uint64_t page_id, RankId peer);
  /// Where a page of `peer` is mapped here; null until it has arrived. Any thread.
  std::byte* find(RankId peer, std::uint64_t page_id);
  /// The mapping itself, which then outlives the owner's page; null until it has arrived. Any thread.
  std::shared_ptr<MappedPeerPage> hold(RankId peer, std::uint64_t page_id);
  /// The peer is gone: forget what was lent to it. Its pages stay mapped while operations may read them.
  void forget(RankId peer);

 private:
  using Key = std::uint64_t;
  static Key key(RankId peer, std::uint64_t page_id) noexcept { return (static_cast<Key>(peer.value) << 40U) | page_id; }
  void released(std::uint64_t page_id);

  PeerLinks& links_;
  RankId rank_;
  std::function<void()> on_arrival_;
  std::mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<MappedPeerPage>> mapped_;
  std::unordered_map<std::uint64_t, std::set<int>> lent_;
};

}  // namespace muster::detail
