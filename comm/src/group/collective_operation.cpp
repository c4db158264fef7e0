#include "group/collective_operation.hpp"

#include <fmt/format.h>

#include <cstring>

#include "group/small_collective.hpp"
#include "transport/cross_host/lane.hpp"
#include "transport/host/host_collective.hpp"

namespace muster::detail {

CollectiveOperation::CollectiveOperation(std::shared_ptr<GroupState> group, Communicator& communicator, CollectiveCall call,
                                         std::function<void(const Failure&)> ended)
    : guard_(std::move(group)),
      communicator_(communicator),
      call_(std::move(call)),
      meeting_(communicator, call_),
      ended_(std::move(ended)) {}

CollectiveOperation::~CollectiveOperation() { communicator_.issued->remove(call_.sequence, this); }

bool CollectiveOperation::accepts_tainted(const Failure& failure) {
  call_.source_failure = failure;
  return true;
}

void CollectiveOperation::failed(const Failure& failure) {
  if (ended_) std::exchange(ended_, nullptr)(failure);
}

void CollectiveOperation::prepare(DeviceContext& device, Posting posting) {
  call_.sequence = ++communicator_.sequence;
  const auto& shape = guard_.group().shape();
  if (posting == Posting::early && shape.one_host() && is_small(call_.fingerprint, shape)) {
    if (call_.destination.valid()) device.prepare_to_write(communicator_.stream, call_.destination);
    if (call_.source.valid()) source_written_ = device.writer_of(call_.source);
    communicator_.issued->add(call_.sequence, this);
  }
  const std::size_t scratch = scratch_bytes(call_, shape, communicator_.index);
  if (scratch == 0) return;
  try {
    call_.scratch = device.allocate(scratch);
  } catch (...) {
    call_.source_failure = current_failure();  // the others are told, and nobody waits
  }
}

bool CollectiveOperation::poll() {
  const auto what = [this] {
    return fmt::format("operation {}, {},", call_.sequence, muster::detail::describe(call_.fingerprint));
  };
  const auto absent = [this] { return meeting_.absent(); };
  auto& group = guard_.group();
  bool done = false;
  if (group.shape().one_host() && group.formed() && is_small(call_.fingerprint, group.shape()) && !guard_.started()) {
    // The shortest way for the shortest operations: no coroutine, and no clock before something has to be waited for.
    done = guard_.poll([this] { return poll_small(); }, what, absent);
  } else {
    if (!guard_.started()) {
      guard_.require_whole();
      guard_.start(run());
    }
    done = guard_.poll(what, absent);
  }
  if (done && ended_) std::exchange(ended_, nullptr)(nullptr);
  return done;
}

void CollectiveOperation::find_memory() {
  if (call_.source.valid()) call_.source_data = memory_of(call_.source).address;
  if (call_.destination.valid()) call_.destination_data = memory_of(call_.destination).address;
  if (call_.scratch.valid()) call_.scratch_data = memory_of(call_.scratch).address;
}

bool CollectiveOperation::poll_small() {
  if (!polled_) {
    polled_ = true;
    guard_.require_whole();
    if (!posted_) post();
    post_ahead();
  }
  if (!meeting_.all_posted()) return false;
  meeting_.check_agreement();
  find_memory();  // the destination may have moved since this was posted ahead: lazy reads keep the memory that it had
  finish_small(communicator_, call_, meeting_);
  return true;
}

void CollectiveOperation::post() {
  find_memory();
  meeting_.post();
  posted_ = true;
}

bool CollectiveOperation::may_post_early(std::uint64_t sequence) const {
  return call_.sequence == sequence && !posted_ && source_written_.reached() &&
         (!call_.source.valid() || !failure_of(call_.source));
}

void CollectiveOperation::post_ahead() {
  for (std::uint64_t sequence = call_.sequence + 1; sequence < call_.sequence + posts_ahead; ++sequence) {
    CollectiveOperation* next = communicator_.issued->find(sequence);
    if (next && next->may_post_early(sequence)) next->post();
  }
}

Progress CollectiveOperation::run() {
  auto& group = guard_.group();
  if (!group.formed()) co_await until([&group] { return group.formed(); });
  find_memory();
  if (call_.scratch_data && call_.operation() == Operation::all_to_all && !call_.source_failure) {
    std::memcpy(call_.scratch_data, call_.source_data, call_.source.size());
  }
  if (!posted_) meeting_.post();
  co_await meeting_.run();
  if (is_small(call_.fingerprint, group.shape())) {
    finish_small(communicator_, call_, meeting_);
  } else if (group.shape().one_host()) {
    co_await host_collective(communicator_, call_, meeting_);
  } else {
    co_await cross_host_collective(communicator_, call_, meeting_);
  }
}

}  // namespace muster::detail
