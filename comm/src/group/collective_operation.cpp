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

bool CollectiveOperation::accepts_tainted(const Failure& failure) {
  call_.source_failure = failure;
  return true;
}

void CollectiveOperation::failed(const Failure& failure) {
  if (ended_) std::exchange(ended_, nullptr)(failure);
}

bool CollectiveOperation::poll() {
  if (!guard_.started()) {
    guard_.require_whole();
    guard_.start(run());
  }
  const bool done =
      guard_.poll([this] { return fmt::format("operation {}, {},", call_.sequence, muster::detail::describe(call_.fingerprint)); },
                  [this] { return meeting_.absent(); });
  if (done && ended_) std::exchange(ended_, nullptr)(nullptr);
  return done;
}

Progress CollectiveOperation::run() {
  auto& group = guard_.group();
  if (!group.formed()) co_await until([&group] { return group.formed(); });
  if (call_.source.valid()) call_.source_data = memory_of(call_.source).address;
  if (call_.destination.valid()) call_.destination_data = memory_of(call_.destination).address;
  if (call_.scratch.valid()) {
    call_.scratch_data = memory_of(call_.scratch).address;
    if (call_.operation() == Operation::all_to_all && !call_.source_failure) {
      std::memcpy(call_.scratch_data, call_.source_data, call_.source.size());
    }
  }
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
