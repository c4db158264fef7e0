#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "muster/client.hpp"
#include "muster/collective_error.hpp"
#include "muster/device.hpp"
#include "muster/dtype.hpp"
#include "muster/reduce_op.hpp"

namespace muster {

namespace detail {
class GroupState;
}

/// When the compute stream sees the result of a collective.
enum class ComputeWait : std::uint8_t {
  at_once,  ///< later work of the caller's stream waits for it
  at_sync,  ///< the stream runs on until sync_collective(), or until it uses the same memory
};

/// Whether float reductions keep the order of the ranks where another order is faster.
enum class Reproducibility : std::uint8_t {
  exact,  ///< the same bits on every rank and in every run, for any placement
  fast,   ///< the order of hosts first; the same bits on every rank, and in every run with the same placement
};

struct CollectiveOptions {
  ComputeWait wait = ComputeWait::at_once;
  Reproducibility reproducibility = Reproducibility::exact;
};

/// An ordered set of devices of any ranks, and the collectives among them. A member's index is its position in the set.
///
/// Every member issues the operations of one group in one order; groups are independent of each other. Each call
/// enqueues the part of one local device and returns at once: it runs after earlier work on the same memory, on a stream
/// of the group's own. A part that fails taints its destination. Operations that do not match, a lost member or a missed
/// deadline break the group on all ranks, and every later call fails with the same cause.
///
/// All sizes follow from the handles: with n members and blocks of b bytes, `all_gather` takes b and gives n*b,
/// `reduce_scatter`, `scatter` and `all_to_all` take n*b. A wrong size, a root outside the group, a client that is no
/// member, or a dtype that does not support the operation throws UsageError at the call. In place means: source and
/// destination are the same memory, or, where one is a block of the other, that block at the member's index. Other
/// overlaps are refused. Empty buffers are valid.
class ClientGroup {
 public:
  explicit ClientGroup(std::shared_ptr<detail::GroupState> state) : state_(std::move(state)) {}

  [[nodiscard]] const std::vector<DeviceId>& devices() const noexcept;
  [[nodiscard]] int size() const noexcept { return static_cast<int>(devices().size()); }
  /// Throws UsageError if the client's device is no member.
  [[nodiscard]] int index_of(const Client& client) const;
  /// Members of this rank, by index.
  [[nodiscard]] std::vector<Client> local_clients() const;

  void all_reduce(const Client& client, const Handle& source, const Handle& destination, Dtype dtype, ReduceOp op,
                  CollectiveOptions options = {}) const;
  /// The destination of members other than `root` is not used and may be an empty handle.
  void reduce(const Client& client, const Handle& source, const Handle& destination, Dtype dtype, ReduceOp op, int root,
              CollectiveOptions options = {}) const;
  void all_gather(const Client& client, const Handle& source, const Handle& destination,
                  CollectiveOptions options = {}) const;
  void reduce_scatter(const Client& client, const Handle& source, const Handle& destination, Dtype dtype, ReduceOp op,
                      CollectiveOptions options = {}) const;
  /// Only the root's source is used.
  void broadcast(const Client& client, const Handle& source, const Handle& destination, int root,
                 CollectiveOptions options = {}) const;
  /// Only the root's destination is used.
  void gather(const Client& client, const Handle& source, const Handle& destination, int root,
              CollectiveOptions options = {}) const;
  /// Only the root's source is used.
  void scatter(const Client& client, const Handle& source, const Handle& destination, int root,
               CollectiveOptions options = {}) const;
  /// Block j of member i's source becomes block i of member j's destination.
  void all_to_all(const Client& client, const Handle& source, const Handle& destination,
                  CollectiveOptions options = {}) const;

  /// Enqueues a send to, or a receive from, the member at `peer`. Paired in the order issued per pair of members and
  /// direction; independent of collectives. Sizes must be equal, else both sides fail and the group is broken.
  void send(const Client& client, const Handle& source, int peer) const;
  void recv(const Client& client, const Handle& destination, int peer) const;

  /// Blocks until every rank has called it. Takes what each local member shares, in the order of local_clients(), and gives
  /// what each member of the group shares, by index, for kernels of this process. Members on other hosts have an empty
  /// handle: nothing reaches their memory. Memory of another rank stays mapped here while its handle lives; its content is
  /// the owner's business, who keeps what he shared as long as it is used. Throws UsageError where a handle is not memory
  /// of that member, TimedOut, and what breaks the group.
  [[nodiscard]] std::vector<PeerHandle> exchange_peers(std::span<const PeerHandle> mine) const;

  /// Later work of the client's current stream waits for all collectives of this group issued so far. Flushes; does not
  /// block.
  void sync_collective(const Client& client) const;
  /// Blocks until every member has called it. Earlier operations of the group on this device are done then. Throws what
  /// broke the group.
  void barrier(const Client& client) const;
  /// Blocks until the transfers issued so far with `peer` are done.
  void sync_transfers(const Client& client, int peer) const;

  /// Group form over all local members, one handle each in the order of local_clients(): every local device gets its
  /// part before any gets the next.
  void all_reduce(std::span<const Handle> sources, std::span<const Handle> destinations, Dtype dtype, ReduceOp op,
                  CollectiveOptions options = {}) const;

  /// The operations that `issue` calls on this thread are handed to each device together, in their order. If it throws,
  /// none of them is issued.
  void batch(const std::function<void()>& issue) const;

  /// What broke the group, or null.
  [[nodiscard]] Failure broken() const;
  /// How each pair of members is reached from here, one line each, for people.
  [[nodiscard]] std::vector<std::string> paths() const;

 private:
  std::shared_ptr<detail::GroupState> state_;
};

}  // namespace muster
