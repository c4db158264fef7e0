#include "topology/reach_probe.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <random>

#include "bootstrap/message.hpp"
#include "muster/client.hpp"

namespace muster {

std::string_view name(Reach reach) noexcept {
  switch (reach) {
    case Reach::self:
      return "self";
    case Reach::direct:
      return "direct";
    case Reach::host_path:
      return "host path";
  }
  return "unknown";
}

namespace detail {

namespace {

std::uint64_t random_word() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32U) | source();
}

/// Puts the nonce into the last word of the doorbell page, which no doorbell uses.
void write_nonce(std::uint64_t nonce) {
  const PageView page = doorbell_page();
  std::memcpy(page.data + page.size - sizeof nonce, &nonce, sizeof nonce);
}

}  // namespace

ReachProbe::ReachProbe(PeerLinks& links, RankId rank, int ranks_per_host)
    : links_(links), rank_(rank), ranks_per_host_(ranks_per_host), nonce_(random_word()) {
  write_nonce(nonce_);
}

void ReachProbe::settle(int rank, PeerReach found) {
  const std::lock_guard lock(mutex_);
  found_.emplace(rank, std::move(found));
  changed_.notify_all();
}

void ReachProbe::install() {
  links_.on(MessageType::probe, [this](RankId from, const std::string& payload, UniqueFd descriptor) {
    const auto size = MessageReader(payload).get<std::uint64_t>();
    MessageWriter answer;
    try {
      MappedPeerPage page(descriptor.get(), size);
      std::uint64_t nonce = 0;
      std::memcpy(&nonce, page.data() + size - sizeof nonce, sizeof nonce);
      answer.put(nonce).put(std::string_view());
      const std::lock_guard lock(mutex_);
      bells_.insert_or_assign(from.value, std::move(page));
    } catch (const std::exception& error) {
      answer = MessageWriter();
      answer.put(std::uint64_t{0}).put(std::string_view(error.what()));
    }
    links_.send(from, MessageType::probe_answer, answer.take());
  });
  links_.on(MessageType::probe_answer, [this](RankId from, const std::string& payload, UniqueFd) {
    MessageReader reader(payload);
    const auto nonce = reader.get<std::uint64_t>();
    const std::string problem = reader.text();
    if (nonce == nonce_) return settle(from.value, {Reach::direct, "it mapped a page and read its nonce"});
    settle(from.value, {Reach::host_path, problem.empty() ? "it read something else than was written" : problem});
  });
}

std::vector<PeerReach> ReachProbe::run(const std::vector<std::string>& kernels, Deadline deadline) {
  const int size = static_cast<int>(kernels.size());
  const PageView bells = doorbell_page();
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank_.value) {
      settle(peer, {Reach::self, "the same process"});
    } else if (kernels[peer] != kernels[rank_.value]) {
      settle(peer, {Reach::host_path, "it runs on another machine"});
    } else if (ranks_per_host_ > 0 && peer / ranks_per_host_ != rank_.value / ranks_per_host_) {
      settle(peer, {Reach::host_path, "MUSTER_RANKS_PER_HOST keeps the two apart"});
    } else {
      links_.connect_unix_soon(RankId{peer}, [this, peer, bells](const std::string& problem) {
        if (!problem.empty()) {
          settle(peer, {Reach::host_path, "no Unix socket in common, so another host or container: " + problem});
        } else {
          links_.send(RankId{peer}, MessageType::probe, MessageWriter().put(std::uint64_t{bells.size}).take(),
                      bells.descriptor);
        }
      });
    }
  }
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, std::min(deadline.at(), std::chrono::steady_clock::now() + std::chrono::hours(24)),
                      [&] { return static_cast<int>(found_.size()) == size; });
  std::vector<PeerReach> all;
  for (int peer = 0; peer < size; ++peer) {
    const auto found = found_.find(peer);
    all.push_back(found != found_.end() ? found->second
                                        : PeerReach{Reach::host_path, "it did not answer the probe in time"});
  }
  return all;
}

}  // namespace detail
}  // namespace muster
