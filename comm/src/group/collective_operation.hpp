#pragma once

#include <array>
#include <functional>

#include "group/collective_call.hpp"
#include "group/guarded_progress.hpp"
#include "group/meeting.hpp"
#include "muster/device_work.hpp"

namespace muster::detail {

/// One member's part of a collective, in the group's stream on its device.
class CollectiveOperation final : public StreamOperation {
 public:
  CollectiveOperation(std::shared_ptr<GroupState> group, Communicator& communicator, CollectiveCall call,
                      std::function<void(const Failure&)> ended);

  bool poll() override;
  [[nodiscard]] std::span<const Handle> reads() const override {
    return {call_.source.valid() ? &call_.source : nullptr, call_.source.valid() ? 1U : 0U};
  }
  [[nodiscard]] std::span<const Handle> writes() const override {
    return {call_.destination.valid() ? &call_.destination : nullptr, call_.destination.valid() ? 1U : 0U};
  }
  void failed(const Failure& failure) override;
  /// Takes part all the same, so that the others are told and do not wait.
  bool accepts_tainted(const Failure& failure) override;

 private:
  Progress run();

  GuardedProgress guard_;
  Communicator& communicator_;
  CollectiveCall call_;
  Meeting meeting_;
  std::function<void(const Failure&)> ended_;  // null failure: done
};

}  // namespace muster::detail
