#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "group/fabric.hpp"
#include "group/group_state.hpp"

namespace muster::detail {

/// The groups of this process, and the forming of new ones. The processes of a group tell its first rank that they are
/// ready; that rank tells all of them when everyone is. The I/O threads do it, so that groups may form in any order, from
/// any thread.
class GroupRegistry {
 public:
  explicit GroupRegistry(std::shared_ptr<Fabric> fabric) : fabric_(std::move(fabric)) {}

  /// Installs the handlers; before links.open().
  void install();
  /// The group of these devices; forming has begun.
  std::shared_ptr<GroupState> get(const std::vector<DeviceId>& devices);
  /// A rank is gone: breaks every group that it is in.
  void lose(RankId rank, const std::string& how);
  /// The ranks end in order from now on: one that goes is not lost.
  void expect_departures() { departures_expected_.store(true); }
  /// Ends all groups with `failure`.
  void close(const Failure& failure);
  /// At the first rank of a group: which of its ranks have not joined. Elsewhere empty.
  std::vector<int> not_joined(const GroupState& group);

 private:
  struct Entry {
    std::shared_ptr<GroupState> state;    // null until a thread of this process asked for the group
    std::map<int, std::uint32_t> joined;  // at the first rank: number of the group in each process
    UniqueFd page;                        // came before the group was asked for
    std::size_t page_size = 0;
  };
  using Key = std::vector<DeviceId>;

  void begin(GroupState& state);
  void on_join(RankId from, const std::string& payload);
  void on_formed(const std::string& payload);
  void on_page(const std::string& payload, UniqueFd descriptor);

  std::shared_ptr<Fabric> fabric_;
  std::mutex mutex_;
  std::map<Key, Entry> groups_;
  std::map<int, std::string> lost_;
  std::uint32_t next_number_ = 1;
  std::atomic<bool> departures_expected_{false};
};

}  // namespace muster::detail
