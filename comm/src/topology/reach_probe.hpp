#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "bootstrap/peer_links.hpp"
#include "muster/deadline.hpp"
#include "muster/reach.hpp"
#include "transport/host/mapped_peer_page.hpp"

namespace muster::detail {

/// Finds out, for each rank that may be on this host, whether its pages can be mapped here: it hands over its doorbell
/// page over a Unix socket, with a nonce in it, and must be told the nonce that was read. Nothing is inferred from names.
class ReachProbe {
 public:
  /// `ranks_per_host`, if not 0, refuses direct reach between ranks of different blocks of that many: a way to try
  /// several hosts on one.
  ReachProbe(PeerLinks& links, RankId rank, int ranks_per_host);

  /// Installs the handlers; before links.open().
  void install();
  /// Probes all ranks with this rank's kernel identity. Blocks until each answered or failed, or the deadline.
  std::vector<PeerReach> run(const std::vector<std::string>& kernels, Deadline deadline);
  /// The doorbell page of a rank that is reached directly.
  [[nodiscard]] const MappedPeerPage& bells_of(RankId rank) const { return bells_.at(rank.value); }
  [[nodiscard]] bool has_bells_of(RankId rank) const { return bells_.count(rank.value) != 0; }

 private:
  void settle(int rank, PeerReach found);

  PeerLinks& links_;
  RankId rank_;
  int ranks_per_host_;
  std::uint64_t nonce_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, PeerReach> found_;
  std::map<int, MappedPeerPage> bells_;
};

}  // namespace muster::detail
