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
  ~CollectiveOperation() override;

  /// Whether a small operation may tell the others of its part before its turn, once its source is written.
  enum class Posting : std::uint8_t { early, in_turn };
  /// On the actor: the operation's place in the order, and memory that it needs.
  void prepare(DeviceContext& device, Posting posting = Posting::early);
  [[nodiscard]] Communicator& communicator() const noexcept { return communicator_; }

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
  bool poll_small();
  void post();
  /// Posts the small operations behind this one whose sources are written already: their turn then finds what the other
  /// members posted, and does not wait for memory to travel between cores.
  void post_ahead();
  [[nodiscard]] bool may_post_early(std::uint64_t sequence) const;
  void find_memory();
  Progress run();

  GuardedProgress guard_;
  Communicator& communicator_;
  CollectiveCall call_;
  Meeting meeting_;
  StreamWatch source_written_;
  bool posted_ = false, polled_ = false;
  std::function<void(const Failure&)> ended_;  // null failure: done
};

}  // namespace muster::detail
