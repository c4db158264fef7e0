#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "bootstrap/io_thread.hpp"
#include "bootstrap/peer_links.hpp"
#include "muster/client.hpp"
#include "muster/reach.hpp"
#include "topology/host_card.hpp"
#include "topology/reach_probe.hpp"
#include "transport/host/peer_pages.hpp"
#include "transport/ucx/worker.hpp"

namespace muster::detail {

/// What this process has to reach the others with. Groups share it.
struct Fabric {
  explicit Fabric(RankId own_rank, int ranks_per_host)
      : rank(own_rank),
        links(io.context(), own_rank),
        probe(links, own_rank, ranks_per_host),
        pages(std::make_shared<PeerPages>(links, own_rank)) {}
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  ~Fabric() { close(); }

  /// Wakes all threads of this process that wait for a device: something outside them has changed.
  void ring_all() const {
    for (const Client& client : clients) client.doorbell().ring();
  }

  /// Ends all links. Idempotent; not on the I/O thread.
  void close() {
    if (ucx) ucx->close();
    io.stop();
    links.close();
  }

  RankId rank;
  std::vector<HostCard> cards;
  std::vector<PeerReach> reach;
  std::vector<int> host_of_rank;
  std::chrono::milliseconds timeout{0};
  std::vector<Client> clients;
  IoThread io;
  PeerLinks links;
  ReachProbe probe;
  std::shared_ptr<PeerPages> pages;
  std::shared_ptr<ucx::Worker> ucx;  // null where all ranks are reached directly
};

}  // namespace muster::detail
