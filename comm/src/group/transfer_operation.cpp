#include "group/transfer_operation.hpp"

#include <fmt/format.h>

#include <cstring>

#include "muster/collective_error.hpp"

namespace muster::detail {

namespace {

/// What a sender says of its transfer, and a receiver answers, between hosts.
struct TransferHead {
  std::uint64_t bytes;
  std::uint64_t failed;
};

}  // namespace

TransferOperation::TransferOperation(std::shared_ptr<GroupState> group, Communicator& communicator, Direction direction,
                                     int peer, std::uint64_t number, Handle handle)
    : guard_(std::move(group)),
      communicator_(communicator),
      direction_(direction),
      peer_(peer),
      number_(number),
      handle_(std::move(handle)) {}

bool TransferOperation::accepts_tainted(const Failure& failure) {
  source_failure_ = failure;
  return true;
}

bool TransferOperation::poll() {
  if (!guard_.started()) {
    guard_.require_whole();
    guard_.start(run());
  }
  return guard_.poll(
      [this] {
        return fmt::format("{} {} of {} bytes {} member {}", direction_ == Direction::send ? "send" : "recv", number_,
                           handle_.size(), direction_ == Direction::send ? "to" : "from", peer_);
      },
      [this]() -> Absent {
        if (!guard_.group().formed()) return guard_.group().missing();
        return {fmt::format("rank {} (member {}) did not issue its half",
                            guard_.group().shape().members[peer_].rank().value, peer_),
                true};
      });
}

void TransferOperation::mismatch(std::uint64_t sent, std::uint64_t expected) const {
  const auto& members = guard_.group().shape().members;
  const int from = direction_ == Direction::send ? communicator_.index : peer_;
  const int to = direction_ == Direction::send ? peer_ : communicator_.index;
  throw CollectiveMismatch(fmt::format(
      "transfer {} of the {} differs: rank {} (member {}) sends {} bytes, rank {} (member {}) "
      "expects {}; both halves must have one size",
      number_, guard_.group().describe(), members[from].rank().value, from, sent, members[to].rank().value, to, expected));
}

void TransferOperation::sender_failed() const {
  const RankId rank = guard_.group().shape().members[peer_].rank();
  throw PeerFailed(rank, fmt::format("rank {} had nothing to send: its buffer carries a failure", rank.value));
}

Progress TransferOperation::run() {
  auto& group = guard_.group();
  if (!group.formed()) co_await until([&group] { return group.formed(); });
  const bool on_host = group.shape().members[peer_].host == group.own_host();
  if (direction_ == Direction::send) {
    if (on_host) {
      co_await send_on_host();
    } else {
      co_await send_across();
    }
  } else if (on_host) {
    co_await receive_on_host();
  } else {
    co_await receive_across();
  }
}

// On a host the receiver reads the sender's memory.
Progress TransferOperation::send_on_host() {
  auto& group = guard_.group();
  const int peer_local = group.shape().members[peer_].local_index;
  TransferSlot& slot = group.page().transfer(communicator_.local_index, peer_local);
  slot.bytes = handle_.size();
  slot.failed = source_failure_ ? 1 : 0;
  if (!source_failure_) {
    const MemoryView view = memory_of(handle_);
    slot.source = {view.page, view.page_offset};
    group.lend(view.page);
  }
  slot.posted.store(number_, std::memory_order_release);
  group.ring_members(communicator_.local_index);
  co_await until([&slot, this] { return slot.taken.load(std::memory_order_acquire) == number_; });
  if (const std::uint64_t refused = slot.refused.load(std::memory_order_relaxed); refused != 0) {
    mismatch(handle_.size(), refused - 1);
  }
}

Progress TransferOperation::receive_on_host() {
  auto& group = guard_.group();
  const int peer_local = group.shape().members[peer_].local_index;
  TransferSlot& slot = group.page().transfer(peer_local, communicator_.local_index);
  co_await until([&slot, this] { return slot.posted.load(std::memory_order_acquire) == number_; });
  const std::uint64_t sent = slot.bytes;
  const bool fits = sent == handle_.size(), failed = slot.failed != 0;
  if (!fits) slot.refused.store(handle_.size() + 1, std::memory_order_relaxed);
  if (fits && !failed && sent != 0) {
    std::byte* source = nullptr;
    co_await until([&] { return (source = group.find(peer_, slot.source)) != nullptr; });
    std::memcpy(memory_of(handle_).address, source, handle_.size());
  }
  slot.taken.store(number_, std::memory_order_release);
  group.ring_members(communicator_.local_index);
  if (!fits) mismatch(sent, handle_.size());
  if (failed) sender_failed();
}

Progress TransferOperation::send_across() {
  auto& group = guard_.group();
  auto& worker = *group.fabric().ucx;
  const RankId rank = group.shape().members[peer_].rank();
  const auto step = static_cast<std::uint32_t>(number_);
  const int me = communicator_.index;
  TransferHead head{handle_.size(), source_failure_ ? 1U : 0U}, reply{};
  ucx::Request replied =
      worker.receive(ucx::tag(group.number(), me, peer_, ucx::Channel::transfer_reply, step), &reply, sizeof reply);
  ucx::Request headed =
      worker.send(rank, ucx::tag(group.number_of(rank), peer_, me, ucx::Channel::transfer_head, step), &head, sizeof head);
  ucx::Request data;
  if (!source_failure_ && handle_.size() != 0) {
    data = worker.send(rank, ucx::tag(group.number_of(rank), peer_, me, ucx::Channel::transfer, step),
                       memory_of(handle_).address, handle_.size());
  }
  co_await until([&] { return headed.done() && replied.done(); });
  if (reply.bytes != head.bytes) mismatch(head.bytes, reply.bytes);
  if (data.valid()) co_await until([&] { return data.done(); });
}

Progress TransferOperation::receive_across() {
  auto& group = guard_.group();
  auto& worker = *group.fabric().ucx;
  const RankId rank = group.shape().members[peer_].rank();
  const auto step = static_cast<std::uint32_t>(number_);
  const int me = communicator_.index;
  TransferHead head{}, reply{handle_.size(), 0};
  ucx::Request headed =
      worker.receive(ucx::tag(group.number(), me, peer_, ucx::Channel::transfer_head, step), &head, sizeof head);
  co_await until([&] { return headed.done(); });
  const bool fits = head.bytes == handle_.size();
  if (fits && head.failed == 0 && handle_.size() != 0) {
    ucx::Request data = worker.receive(ucx::tag(group.number(), me, peer_, ucx::Channel::transfer, step),
                                       memory_of(handle_).address, handle_.size());
    co_await until([&] { return data.done(); });
  }
  ucx::Request replied = worker.send(rank, ucx::tag(group.number_of(rank), peer_, me, ucx::Channel::transfer_reply, step),
                                     &reply, sizeof reply);
  co_await until([&] { return replied.done(); });
  if (!fits) mismatch(head.bytes, handle_.size());
  if (head.failed != 0) sender_failed();
}

}  // namespace muster::detail
