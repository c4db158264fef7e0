#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "muster/bootstrap.hpp"
#include "muster/client.hpp"
#include "muster/deadline.hpp"
#include "muster/device.hpp"
#include "muster/reach.hpp"

namespace muster {

class ClientGroup;
namespace detail {
class WorldState;
}

struct WorldOptions {
  /// Host devices of this rank. 0: as MUSTER_DEVICES_PER_RANK says (the launcher sets it), else one.
  int devices_per_rank = 0;
  /// How long forming the world, forming a group, and each collective may take. MUSTER_TIMEOUT (seconds) overrides it.
  std::chrono::milliseconds timeout = std::chrono::minutes(2);
};

/// The job as this process sees it: all ranks, how each is reached, and the groups. Made once, in main, and passed on.
/// Cheap to copy; copies are the same world. Safe from any thread.
class World {
 public:
  /// Collective over all ranks of `bootstrap`. Throws BootstrapFailed, TimedOut.
  static World form(std::unique_ptr<Bootstrap> bootstrap, WorldOptions options = {});
  /// form() over MPI.
  static World form(WorldOptions options = {});

  [[nodiscard]] RankId rank() const noexcept;
  [[nodiscard]] int size() const noexcept;
  /// Position of the rank's host among the hosts, which are ordered by their lowest rank.
  [[nodiscard]] int host_of(RankId rank) const;
  [[nodiscard]] int host_count() const noexcept;
  [[nodiscard]] std::string host_name(RankId rank) const;
  /// How the memory of `rank` is reached from here.
  [[nodiscard]] const PeerReach& reach(RankId rank) const;

  /// The devices of this rank.
  [[nodiscard]] std::vector<Client> clients() const;
  /// All devices of all ranks, by rank, then ordinal.
  [[nodiscard]] std::vector<DeviceId> all_devices() const;

  /// The group of these devices, in this order. Returns at once: the group forms with its first operation, once per
  /// ordered list, in any order on the ranks. At least one device must be of this rank. Throws UsageError for an unknown
  /// or repeated device.
  [[nodiscard]] ClientGroup group(std::vector<DeviceId> devices) const;
  /// The group of all_devices().
  [[nodiscard]] ClientGroup group() const;

  /// The orderly end, collective over the ranks that live: says goodbye, waits for the others until the deadline, and
  /// ends MPI if the world started it. A world dropped without it looks like a lost rank to the others. Whether all
  /// ranks came.
  bool shutdown(Deadline deadline = Deadline::after(std::chrono::seconds(30)));

 private:
  explicit World(std::shared_ptr<detail::WorldState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::WorldState> state_;
};

}  // namespace muster
