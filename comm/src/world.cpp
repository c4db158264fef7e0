#include "muster/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "bootstrap/message.hpp"
#include "group/fabric.hpp"
#include "group/group_registry.hpp"
#include "muster/client_group.hpp"
#include "muster/collective_error.hpp"

namespace muster {

namespace detail {

namespace {

/// A whole number from the environment, or `otherwise`. Throws UsageError for anything else.
int number_from_environment(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (!text || *text == '\0') return otherwise;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < 1 || value > 1'000'000) {
    throw UsageError(fmt::format("{}='{}' is not a whole number from 1 to 1000000", variable, text));
  }
  return static_cast<int>(value);
}

/// Ranks that reach each other directly are one host. A rank belongs to the first rank all of whose host reaches it.
std::vector<int> hosts_from(const std::vector<std::vector<bool>>& direct) {
  const int size = static_cast<int>(direct.size());
  std::vector<int> host(size, -1);
  std::vector<std::vector<int>> hosts;
  for (int rank = 0; rank < size; ++rank) {
    for (std::size_t each = 0; each < hosts.size() && host[rank] < 0; ++each) {
      const bool all = std::all_of(hosts[each].begin(), hosts[each].end(),
                                   [&](int other) { return direct[rank][other] && direct[other][rank]; });
      if (all) host[rank] = static_cast<int>(each);
    }
    if (host[rank] < 0) {
      host[rank] = static_cast<int>(hosts.size());
      hosts.emplace_back();
    }
    hosts[host[rank]].push_back(rank);
  }
  return host;
}

}  // namespace

/// The world of this process: its links and its groups.
class WorldState {
 public:
  WorldState(std::unique_ptr<Bootstrap> bootstrap, WorldOptions options);
  WorldState(const WorldState&) = delete;
  WorldState& operator=(const WorldState&) = delete;
  ~WorldState() {
    end("the world was dropped");
    if (in_forked_child()) {
      // Its connections are the parent's: to end them here would end them there.
      static_cast<void>(new std::shared_ptr<Fabric>(std::move(fabric_)));
      static_cast<void>(bootstrap_.release());
    }
  }

  [[nodiscard]] Fabric& fabric() const noexcept { return *fabric_; }
  [[nodiscard]] GroupRegistry& groups() noexcept { return groups_; }
  bool shutdown(Deadline deadline);

 private:
  /// A process has one world at a time.
  class Place {
   public:
    Place() {
      if (alive.exchange(true)) {
        throw UsageError("this process has a world; pass it on instead of forming another");
      }
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { alive.store(false); }
  };
  static inline std::atomic<bool> alive{false};

  void probe(Deadline deadline);
  void connect_hosts(Deadline deadline);
  void end(const char* why);

  Place place_;
  std::unique_ptr<Bootstrap> bootstrap_;
  std::shared_ptr<Fabric> fabric_;
  GroupRegistry groups_;
  bool ended_ = false;
};

WorldState::WorldState(std::unique_ptr<Bootstrap> bootstrap, WorldOptions options)
    : bootstrap_(std::move(bootstrap)),
      fabric_(std::make_shared<Fabric>(bootstrap_->rank(), number_from_environment("MUSTER_RANKS_PER_HOST", 0))),
      groups_(fabric_) {
  if (options.devices_per_rank == 0) options.devices_per_rank = number_from_environment("MUSTER_DEVICES_PER_RANK", 1);
  if (options.devices_per_rank < 1) {
    throw UsageError(fmt::format("a rank needs at least one device, not {}", options.devices_per_rank));
  }
  ucx::give_back_signal_handlers();
  fabric_->timeout = options.timeout;
  if (const int seconds = number_from_environment("MUSTER_TIMEOUT", 0); seconds != 0) {
    fabric_->timeout = std::chrono::seconds(seconds);
  }
  const Deadline deadline = Deadline::after(fabric_->timeout);
  for (int ordinal = 0; ordinal < options.devices_per_rank; ++ordinal) {
    fabric_->clients.push_back(Client::load({Backend::host, fabric_->rank, ordinal}));
  }
  groups_.install();
  fabric_->probe.install();
  fabric_->pages->install();
  fabric_->pages->set_on_arrival([fabric = fabric_.get()] { fabric->ring_all(); });

  HostCard card = own_host_card();
  card.devices = options.devices_per_rank;
  card.address = fabric_->links.address();
  std::vector<PeerLinks::Address> addresses;
  for (const std::string& packed : bootstrap_->all_gather(card.pack(), deadline)) {
    fabric_->cards.push_back(HostCard::unpack(packed));
    addresses.push_back(fabric_->cards.back().address);
  }
  fabric_->links.open(std::move(addresses), fabric_->cards.front().secret);
  probe(deadline);
  connect_hosts(deadline);

  // Whoever runs on this machine competes for its cores, in whatever container.
  int threads = 0;
  for (const HostCard& other : fabric_->cards) threads += other.kernel == card.kernel ? other.devices : 0;
  set_wait_policy(wait_policy_for(threads, card.cores));
  set_kernel_threads(std::max(card.cores / std::max(threads, 1), 1));
}

void WorldState::probe(Deadline deadline) {
  std::vector<std::string> kernels;
  for (const HostCard& card : fabric_->cards) kernels.push_back(card.kernel);
  fabric_->reach = fabric_->probe.run(kernels, deadline);
  std::string row;
  for (const PeerReach& peer : fabric_->reach) row += peer.reach == Reach::host_path ? '0' : '1';
  std::vector<std::vector<bool>> direct;
  for (const std::string& other : bootstrap_->all_gather(row, deadline)) {
    direct.emplace_back();
    for (const char each : other) direct.back().push_back(each == '1');
  }
  fabric_->host_of_rank = hosts_from(direct);
  const int own = fabric_->host_of_rank[fabric_->rank.value];
  for (std::size_t peer = 0; peer < fabric_->reach.size(); ++peer) {
    auto& found = fabric_->reach[peer];
    if (found.reach == Reach::direct && fabric_->host_of_rank[peer] != own) {
      found = {Reach::host_path, "direct from here, but not for all ranks of this host"};
    }
  }
}

void WorldState::connect_hosts(Deadline deadline) {
  const auto& hosts = fabric_->host_of_rank;
  if (std::all_of(hosts.begin(), hosts.end(), [](int host) { return host == 0; })) return;
  fabric_->ucx = std::make_shared<ucx::Worker>(fabric_->io.context(), [fabric = fabric_.get()] { fabric->ring_all(); });
  const auto all = bootstrap_->all_gather(fabric_->ucx->address(), deadline);
  std::map<int, std::string> addresses;
  for (int rank = 0; rank < static_cast<int>(all.size()); ++rank) addresses[rank] = all[rank];
  fabric_->ucx->set_addresses(std::move(addresses));
  fabric_->ucx->on_peer_failure(
      [fabric = fabric_.get()](RankId rank, const std::string& how) { fabric->links.lose_soon(rank, how); });
  for (const Client& client : fabric_->clients) client.add_progress(fabric_->ucx);
}

bool WorldState::shutdown(Deadline deadline) {
  if (ended_) return true;
  groups_.expect_departures();
  fabric_->links.say_goodbye();
  const bool all_came = bootstrap_->finish(deadline);
  end("the world was shut down");
  return all_came;
}

void WorldState::end(const char* why) {
  if (in_forked_child()) return;
  if (std::exchange(ended_, true)) return;
  groups_.close(std::make_shared<const Error>(ErrorCode::device_closed, why));
  fabric_->ring_all();
  fabric_->close();
}

}  // namespace detail

World World::form(std::unique_ptr<Bootstrap> bootstrap, WorldOptions options) {
  return World(std::make_shared<detail::WorldState>(std::move(bootstrap), options));
}

World World::form(WorldOptions options) { return form(mpi_bootstrap(), options); }

RankId World::rank() const noexcept { return state_->fabric().rank; }
int World::size() const noexcept { return static_cast<int>(state_->fabric().cards.size()); }
int World::host_of(RankId rank) const { return state_->fabric().host_of_rank.at(rank.value); }
int World::host_count() const noexcept {
  const auto& hosts = state_->fabric().host_of_rank;
  return *std::max_element(hosts.begin(), hosts.end()) + 1;
}
std::string World::host_name(RankId rank) const { return state_->fabric().cards.at(rank.value).host_name; }
const PeerReach& World::reach(RankId rank) const { return state_->fabric().reach.at(rank.value); }
std::vector<Client> World::clients() const { return state_->fabric().clients; }

std::vector<DeviceId> World::all_devices() const {
  std::vector<DeviceId> devices;
  for (int rank = 0; rank < size(); ++rank) {
    for (int ordinal = 0; ordinal < state_->fabric().cards[rank].devices; ++ordinal) {
      devices.push_back({Backend::host, RankId{rank}, ordinal});
    }
  }
  return devices;
}

ClientGroup World::group(std::vector<DeviceId> devices) const {
  const auto& fabric = state_->fabric();
  std::set<DeviceId> seen;
  bool local = false;
  for (const DeviceId& device : devices) {
    if (device.rank.value < 0 || device.rank.value >= size() || device.ordinal < 0 ||
        device.ordinal >= fabric.cards[device.rank.value].devices) {
      throw UsageError(fmt::format("there is no device {} in this world of {} ranks", to_string(device), size()));
    }
    if (!seen.insert(device).second) {
      throw UsageError(fmt::format("device {} stands twice in the group; each device is a member once", to_string(device)));
    }
    local = local || device.rank == fabric.rank;
  }
  if (!local) {
    throw UsageError(fmt::format("no device of the group is of rank {}; only members may make a group", fabric.rank.value));
  }
  if (devices.size() > detail::ucx::most_members) {
    throw UsageError(fmt::format("a group can have {} devices at most", detail::ucx::most_members));
  }
  return ClientGroup(state_->groups().get(devices));
}

ClientGroup World::group() const { return group(all_devices()); }

bool World::shutdown(Deadline deadline) { return state_->shutdown(deadline); }

}  // namespace muster
