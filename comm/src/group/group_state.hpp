#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "group/fabric.hpp"
#include "group/group_shape.hpp"
#include "muster/client.hpp"
#include "transport/host/group_page.hpp"
#include "transport/ucx/tag.hpp"

namespace muster::detail {

/// Who a member waits for, for a message; `named` if ranks are named in it.
struct Absent {
  std::string text;
  bool named = false;
};

class GroupState;
class CollectiveOperation;

/// The operations that a member has issued and not finished, by sequence, so that the one whose turn it is can post those
/// behind it early. The actor adds; whoever runs the group's stream looks and removes. What does not fit is not posted
/// early.
class IssuedOperations {
 public:
  void add(std::uint64_t sequence, CollectiveOperation* operation) noexcept {
    CollectiveOperation* none = nullptr;
    at(sequence).compare_exchange_strong(none, operation, std::memory_order_release, std::memory_order_relaxed);
  }
  void remove(std::uint64_t sequence, CollectiveOperation* operation) noexcept {
    at(sequence).compare_exchange_strong(operation, nullptr, std::memory_order_relaxed);
  }
  /// May be another operation than that of `sequence`: ask it.
  [[nodiscard]] CollectiveOperation* find(std::uint64_t sequence) noexcept {
    return at(sequence).load(std::memory_order_acquire);
  }

 private:
  static constexpr std::size_t capacity = 1024;
  std::atomic<CollectiveOperation*>& at(std::uint64_t sequence) noexcept { return operations_[sequence % capacity]; }
  std::array<std::atomic<CollectiveOperation*>, capacity> operations_{};
};

/// One local device's membership in a group. Its counters belong to the device's actor.
struct Communicator {
  GroupState& group;
  Client client;
  DeviceId device;
  int index;
  int local_index;
  StreamId stream;             ///< of the group's collectives on this device
  std::uint64_t sequence = 0;  ///< of the last collective issued

  /// Transfers with one peer in one direction: a stream of their own, so that a send never waits behind a receive.
  struct TransferLane {
    StreamId stream;
    std::uint64_t number = 0;
  };
  std::map<int, TransferLane> sends, receives;
  std::unique_ptr<IssuedOperations> issued = std::make_unique<IssuedOperations>();
};

/// A group as this process sees it.
class GroupState : public std::enable_shared_from_this<GroupState> {
 public:
  GroupState(std::shared_ptr<Fabric> fabric, std::vector<DeviceId> devices, std::uint32_t number);
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;

  [[nodiscard]] const std::vector<DeviceId>& devices() const noexcept { return devices_; }
  [[nodiscard]] const GroupShape& shape() const noexcept { return shape_; }
  [[nodiscard]] Fabric& fabric() const noexcept { return *fabric_; }
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] int own_host() const noexcept { return own_host_; }
  [[nodiscard]] std::vector<std::unique_ptr<Communicator>>& communicators() noexcept { return communicators_; }
  /// Throws UsageError where the device is no member.
  [[nodiscard]] Communicator& communicator_of(const Client& client);
  /// `group of 4 devices (host:0.0, host:1.0, …)`
  [[nodiscard]] std::string describe() const;

  // Formation, on the I/O thread.
  void set_page(int descriptor, std::size_t size);
  void set_numbers(std::map<int, std::uint32_t> number_of_rank);
  [[nodiscard]] bool formed() const noexcept { return formed_.load(std::memory_order_acquire); }
  /// Why it is not formed yet, for a message.
  [[nodiscard]] Absent missing() const;
  /// Set by the registry: which ranks have not joined, where this rank is the first of the group.
  void set_not_joined(std::function<std::vector<int>(const GroupState&)> ask) { not_joined_ = std::move(ask); }
  [[nodiscard]] std::size_t page_size() const;
  [[nodiscard]] std::size_t remote_bytes() const;

  // After formation.
  [[nodiscard]] const GroupPage& page() const noexcept { return *page_view_; }
  [[nodiscard]] std::uint32_t number_of(RankId rank) const { return number_of_rank_.at(rank.value); }
  /// Wakes the members of this host, `except` one, after something in the page was stored.
  void ring_members(int except_local_index) const;
  /// Where member `index` of this host has a buffer, in this process; null until its page has arrived.
  [[nodiscard]] std::byte* find(int index, const BufferPlace& place) const;
  /// Makes sure that all processes of this host get the page.
  void lend(std::uint64_t page_id) const;

  /// The group is unusable from now on; the first cause stays. Tells the others unless they told us.
  enum class Tell : std::uint8_t { all_members, nobody };
  void break_with(const Failure& failure, Tell tell);
  /// As break_with, without a word: the world was shut down in order.
  void end_with(const Failure& failure);
  [[nodiscard]] bool is_broken() const noexcept { return broken_.load(std::memory_order_acquire); }
  [[nodiscard]] Failure broken() const;

 private:
  void complete_if_ready();
  bool remember(const Failure& failure);

  std::shared_ptr<Fabric> fabric_;
  std::vector<DeviceId> devices_;
  GroupShape shape_;
  std::uint32_t number_;
  int own_host_ = 0;
  std::vector<std::unique_ptr<Communicator>> communicators_;

  std::optional<MappedPeerPage> page_;
  std::optional<GroupPage> page_view_;
  std::vector<std::byte*> bells_;  // by local index: the doorbell page of the member's process
  std::map<int, std::uint32_t> number_of_rank_;
  std::function<std::vector<int>(const GroupState&)> not_joined_;
  mutable std::mutex forming_mutex_;
  std::atomic<bool> formed_{false};

  mutable std::mutex mutex_;
  Failure failure_;
  std::atomic<bool> broken_{false};
};

/// A failure as bytes for the other ranks, and back with its type.
std::string pack_failure(const Failure& failure);
Failure unpack_failure(std::string_view bytes);

}  // namespace muster::detail
