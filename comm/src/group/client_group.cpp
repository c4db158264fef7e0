#include "muster/client_group.hpp"

#include <fmt/format.h>

#include "group/collective_operation.hpp"
#include "group/recorded_collective.hpp"
#include "group/transfer_operation.hpp"

namespace muster {

using detail::CollectiveCall;
using detail::CollectiveOperation;
using detail::Communicator;
using detail::Fingerprint;
using detail::GroupState;
using detail::Operation;

namespace {

/// Tasks held back by ClientGroup::batch on this thread, by device.
struct Batch {
  struct Part {
    Client client;
    std::vector<std::unique_ptr<DeviceTask>> tasks;
  };
  std::vector<Part> parts;
};
thread_local Batch* open_batch = nullptr;

template <class F>
void submit(const Client& client, F work) {
  auto task = make_device_task(std::move(work));
  if (!open_batch) return client.submit_task(std::move(task));
  for (Batch::Part& part : open_batch->parts) {
    if (part.client.device_id() == client.device_id()) {
      part.tasks.push_back(std::move(task));
      return;
    }
  }
  auto& part = open_batch->parts.emplace_back(Batch::Part{client, {}});
  part.tasks.push_back(std::move(task));
}

/// Queues one member's part on its device.
void issue(const std::shared_ptr<GroupState>& group, Communicator& communicator, const Client& client, CollectiveCall call,
           CollectiveOptions options, std::function<void(const Failure&)> ended = nullptr) {
  call.reproducibility = options.reproducibility;
  if (client.is_capturing()) {
    submit(client, [group, &communicator, call = std::move(call), stream = client.stream()](DeviceContext& device) {
      device.enqueue(stream, std::make_unique<detail::RecordedCollective>(group, communicator, call));
    });
    return;
  }
  auto operation = std::make_unique<CollectiveOperation>(group, communicator, std::move(call), std::move(ended));
  submit(client,
         [operation = std::move(operation), wait = options.wait, stream = client.stream()](DeviceContext& device) mutable {
           operation->prepare(device);
           const StreamId own = operation->communicator().stream;
           const StreamPoint point = device.enqueue(own, std::move(operation));
           if (wait == ComputeWait::at_once) device.wait_for(stream, point);
         });
}

/// The checks of a call: each names what is wrong and both sizes.
struct CallCheck {
  const GroupState& group;
  const Client& client;
  Operation operation;

  [[noreturn]] void refuse(const std::string& reason) const {
    throw UsageError(fmt::format("{} on the {}: {}", detail::name(operation), group.describe(), reason));
  }
  void own(const Handle& handle) const { client.require_own(handle); }
  void size(const char* which, const Handle& handle, std::size_t expected, const std::string& why) const {
    if (handle.size() != expected) {
      refuse(fmt::format("the {} has {} bytes, but {} are needed: {}", which, handle.size(), expected, why));
    }
  }
  void whole(const char* which, const Handle& handle, Dtype dtype) const {
    if (handle.size() % size_of(dtype) != 0) {
      refuse(fmt::format("the {} of {} bytes cuts an element: {} has {} bytes", which, handle.size(), name(dtype),
                         size_of(dtype)));
    }
  }
  void reduces(Dtype dtype, ReduceOp op) const {
    if (!supports(dtype, op)) refuse(fmt::format("'{}' is not defined for {}", name(op), name(dtype)));
  }
  void root(int root) const {
    if (root < 0 || root >= group.shape().size()) {
      refuse(fmt::format("root {} is outside the group, whose members are 0 to {}", root, group.shape().size() - 1));
    }
  }
  /// Overlaps are refused, unless `allowed` says that the two are in place.
  void overlap(const Handle& source, const Handle& destination, bool allowed) const {
    if (!allowed && source.overlaps(destination)) {
      refuse("source and destination overlap without being in place; use the same memory, or the member's own block");
    }
  }
  /// Whether `part` is block `index` of `whole`.
  static bool is_block(const Handle& part, const Handle& whole, int index) {
    return part.allocation() == whole.allocation() && part.offset() == whole.offset() + part.size() * index;
  }
};

CollectiveCall make_call(Operation operation, std::size_t block, const Handle& source, const Handle& destination,
                         int root = -1) {
  CollectiveCall call;
  call.fingerprint.operation = operation;
  call.fingerprint.bytes = block;
  call.fingerprint.root = root;
  if (source.valid()) call.source = source.for_work();
  if (destination.valid()) call.destination = destination.for_work();
  return call;
}

CollectiveCall with_reduction(CollectiveCall call, Dtype dtype, ReduceOp op) {
  call.fingerprint.dtype = static_cast<std::uint8_t>(dtype);
  call.fingerprint.op = static_cast<std::uint8_t>(op);
  return call;
}

}  // namespace

const std::vector<DeviceId>& ClientGroup::devices() const noexcept { return state_->devices(); }

int ClientGroup::index_of(const Client& client) const { return state_->communicator_of(client).index; }

std::vector<Client> ClientGroup::local_clients() const {
  std::vector<Client> clients;
  for (const auto& communicator : state_->communicators()) clients.push_back(communicator->client);
  return clients;
}

void ClientGroup::all_reduce(const Client& client, const Handle& source, const Handle& destination, Dtype dtype,
                             ReduceOp op, CollectiveOptions options) const {
  auto& communicator = state_->communicator_of(client);
  const CallCheck check{*state_, client, Operation::all_reduce};
  check.own(source);
  check.own(destination);
  check.reduces(dtype, op);
  check.whole("source", source, dtype);
  check.size("destination", destination, source.size(), "as many as the source has");
  check.overlap(source, destination, source.same_memory(destination));
  issue(state_, communicator, client,
        with_reduction(make_call(Operation::all_reduce, source.size(), source, destination), dtype, op), options);
}

void ClientGroup::all_reduce(std::span<const Handle> sources, std::span<const Handle> destinations, Dtype dtype,
                             ReduceOp op, CollectiveOptions options) const {
  const auto clients = local_clients();
  if (sources.size() != clients.size() || destinations.size() != clients.size()) {
    throw UsageError(fmt::format("all_reduce over local members needs {} sources and destinations, not {} and {}",
                                 clients.size(), sources.size(), destinations.size()));
  }
  for (std::size_t i = 0; i < clients.size(); ++i) all_reduce(clients[i], sources[i], destinations[i], dtype, op, options);
}

void ClientGroup::reduce(const Client& client, const Handle& source, const Handle& destination, Dtype dtype, ReduceOp op,
                         int root, CollectiveOptions options) const {
  auto& communicator = state_->communicator_of(client);
  const CallCheck check{*state_, client, Operation::reduce};
  check.own(source);
  check.reduces(dtype, op);
  check.whole("source", source, dtype);
  check.root(root);
  const bool is_root = communicator.index == root;
  if (is_root) {
    check.own(destination);
    check.size("destination", destination, source.size(), "as many as the source has");
    check.overlap(source, destination, source.same_memory(destination));
  }
  issue(state_, communicator, client,
        with_reduction(make_call(Operation::reduce, source.size(), source, is_root ? destination : Handle(), root), dtype,
                       op),
        options);
}

void ClientGroup::all_gather(const Client& client, const Handle& source, const Handle& destination,
                             CollectiveOptions options) const {
  auto& communicator = state_->communicator_of(client);
  const CallCheck check{*state_, client, Operation::all_gather};
  check.own(source);
  check.own(destination);
  check.size("destination", destination, source.size() * size(), "one source of each member");
  check.overlap(source, destination, CallCheck::is_block(source, destination, communicator.index));
  issue(state_, communicator, client, make_call(Operation::all_gather, source.size(), source, destination), options);
}

void ClientGroup::reduce_scatter(const Client& client, const Handle& source, const Handle& destination, Dtype dtype,
                                 ReduceOp op, CollectiveOptions options) const {
  auto& communicator = state_->communicator_of(client);
  const CallCheck check{*state_, client, Operation::reduce_scatter};
  check.own(source);
  check.own(destination);
  check.reduces(dtype, op);
  check.whole("destination", destination, dtype);
  check.size("source", source, destination.size() * size(), "one block for each member");
  check.overlap(source, destination, CallCheck::is_block(destination, source, communicator.index));
  issue(state_, communicator, client,
        with_reduction(make_call(Operation::reduce_scatter, destination.size(), source, destination), dtype, op), options);
}

void ClientGroup::broadcast(const Client& client, const Handle& source, const Handle& destination, int root,
                            CollectiveOptions options) const {
  auto& communicator = state_->communicator_of(client);
  const CallCheck check{*state_, client, Operation::broadcast};
  check.own(destination);
  check.root(root);
  const bool is_root = communicator.index == root;
  if (is_root) {
    check.own(source);
    check.size("destination", destination, source.size(), "as many as the source has");
    check.overlap(source, destination, source.same_memory(destination));
  }
  issue(state_, communicator, client,
        make_call(Operation::broadcast, destination.size(), is_root ? source : Handle(), destination, root), options);
}

void ClientGroup::gather(const Client& client, const Handle& source, const Handle& destination, int root,
                         CollectiveOptions options) const {
  auto& communicator = state_->communicator_of(client);
  const CallCheck check{*state_, client, Operation::gather};
  check.own(source);
  check.root(root);
  const bool is_root = communicator.index == root;
  if (is_root) {
    check.own(destination);
    check.size("destination", destination, source.size() * size(), "one source of each member");
    check.overlap(source, destination, CallCheck::is_block(source, destination, communicator.index));
  }
  issue(state_, communicator, client,
        make_call(Operation::gather, source.size(), source, is_root ? destination : Handle(), root), options);
}

void ClientGroup::scatter(const Client& client, const Handle& source, const Handle& destination, int root,
                          CollectiveOptions options) const {
  auto& communicator = state_->communicator_of(client);
  const CallCheck check{*state_, client, Operation::scatter};
  check.own(destination);
  check.root(root);
  const bool is_root = communicator.index == root;
  if (is_root) {
    check.own(source);
    check.size("source", source, destination.size() * size(), "one block for each member");
    check.overlap(source, destination, CallCheck::is_block(destination, source, communicator.index));
  }
  issue(state_, communicator, client,
        make_call(Operation::scatter, destination.size(), is_root ? source : Handle(), destination, root), options);
}

void ClientGroup::all_to_all(const Client& client, const Handle& source, const Handle& destination,
                             CollectiveOptions options) const {
  auto& communicator = state_->communicator_of(client);
  const CallCheck check{*state_, client, Operation::all_to_all};
  check.own(source);
  check.own(destination);
  check.size("destination", destination, source.size(), "as many as the source has");
  if (source.size() % static_cast<std::size_t>(size()) != 0) {
    check.refuse(
        fmt::format("the source of {} bytes is not a whole number of blocks for {} members", source.size(), size()));
  }
  check.overlap(source, destination, source.same_memory(destination));
  issue(state_, communicator, client,
        make_call(Operation::all_to_all, source.size() / static_cast<std::size_t>(size()), source, destination), options);
}

namespace {

void issue_transfer(const std::shared_ptr<GroupState>& group, const Client& client, const Handle& handle, int peer,
                    detail::Direction direction) {
  auto& communicator = group->communicator_of(client);
  client.require_own(handle);
  if (peer < 0 || peer >= group->shape().size() || peer == communicator.index) {
    throw UsageError(fmt::format("member {} cannot transfer with member {}: the {} has members 0 to {}", communicator.index,
                                 peer, group->describe(), group->shape().size() - 1));
  }
  submit(client, [group, &communicator, handle = handle.for_work(), peer, direction,
                  stream = client.stream()](DeviceContext& device) {
    if (device.capturing(stream)) {
      return device.fail_capture(stream,
                                 "a graph cannot record send or recv; transfer between replays, or use a collective");
    }
    auto& lanes = direction == detail::Direction::send ? communicator.sends : communicator.receives;
    auto& lane = lanes.try_emplace(peer, Communicator::TransferLane{make_stream_id(), 0}).first->second;
    ++lane.number;
    device.enqueue(lane.stream,
                   std::make_unique<detail::TransferOperation>(group, communicator, direction, peer, lane.number, handle));
  });
  if (!open_batch) client.flush();
}

}  // namespace

void ClientGroup::send(const Client& client, const Handle& source, int peer) const {
  issue_transfer(state_, client, source, peer, detail::Direction::send);
}

void ClientGroup::recv(const Client& client, const Handle& destination, int peer) const {
  issue_transfer(state_, client, destination, peer, detail::Direction::receive);
}

void ClientGroup::sync_collective(const Client& client) const {
  auto& communicator = state_->communicator_of(client);
  client.submit([&communicator, group = state_, stream = client.stream()](DeviceContext& device) {
    device.wait_for(stream, device.last_point(communicator.stream));
  });
  client.flush();
}

void ClientGroup::sync_transfers(const Client& client, int peer) const {
  auto& communicator = state_->communicator_of(client);
  client.submit_blocking([&](DeviceContext& device) {
    for (auto* lanes : {&communicator.sends, &communicator.receives}) {
      const auto lane = lanes->find(peer);
      if (lane != lanes->end()) device.wait_for(client.stream(), device.last_point(lane->second.stream));
    }
  });
  client.sync();
}

void ClientGroup::barrier(const Client& client) const {
  struct Ended {
    std::atomic<bool> done{false};
    Failure failure;
  };
  if (open_batch) throw UsageError("a barrier waits, so it cannot be part of a batch");
  if (client.is_capturing()) throw UsageError("a barrier waits, so a graph cannot record it");
  auto& communicator = state_->communicator_of(client);
  auto ended = std::make_shared<Ended>();
  issue(state_, communicator, client, make_call(Operation::barrier, 0, {}, {}), {}, [ended](const Failure& failure) {
    ended->failure = failure;
    ended->done.store(true, std::memory_order_release);
  });
  client.help_until([&] { return ended->done.load(std::memory_order_acquire); }, Deadline::never());
  if (ended->failure) ended->failure->raise();
}

void ClientGroup::batch(const std::function<void()>& issue_all) const {
  if (open_batch) return issue_all();  // an outer batch takes them
  Batch batch;
  {
    struct Opened {
      explicit Opened(Batch& opened) { open_batch = &opened; }
      ~Opened() { open_batch = nullptr; }
    } const opened(batch);
    issue_all();
  }
  for (Batch::Part& part : batch.parts) {
    part.client.submit([tasks = std::move(part.tasks)](DeviceContext& device) {
      for (const auto& task : tasks) task->run(device);
    });
    part.client.flush();
  }
}

Failure ClientGroup::broken() const { return state_->broken(); }

std::vector<std::string> ClientGroup::paths() const {
  std::vector<std::string> lines;
  const auto& fabric = state_->fabric();
  for (const int rank : state_->shape().ranks) {
    const PeerReach& reach = fabric.reach[rank];
    std::string line = fmt::format("rank {} -> rank {} ({}): {}", fabric.rank.value, rank, fabric.cards[rank].host_name,
                                   name(reach.reach));
    if (reach.reach == Reach::host_path && fabric.ucx)
      line += fmt::format(" over UCX {}", fabric.ucx->transports(RankId{rank}));
    lines.push_back(line + fmt::format(" ({})", reach.reason));
  }
  return lines;
}

}  // namespace muster
