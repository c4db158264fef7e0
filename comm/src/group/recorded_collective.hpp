#pragma once

#include <memory>

#include "group/collective_operation.hpp"

namespace muster::detail {

/// One member's part of a collective in a graph: each replay issues it anew, with the next place in the group's order.
class RecordedCollective final : public StreamOperation {
 public:
  RecordedCollective(std::shared_ptr<GroupState> group, Communicator& communicator, CollectiveCall call)
      : group_(std::move(group)), communicator_(communicator), call_(std::move(call)) {}

  bool poll() override { throw Error(ErrorCode::internal, "a recorded collective is issued anew for each replay"); }
  [[nodiscard]] std::span<const Handle> reads() const override { return one_or_none(call_.source); }
  [[nodiscard]] std::span<const Handle> writes() const override { return one_or_none(call_.destination); }
  [[nodiscard]] bool repeatable() const noexcept override { return true; }
  [[nodiscard]] std::optional<StreamId> ordered_with() const override { return communicator_.stream; }
  std::unique_ptr<StreamOperation> issue_again(DeviceContext& device) override {
    auto operation = std::make_unique<CollectiveOperation>(group_, communicator_, call_, nullptr);
    // What it reads may be written inside the graph, of which nobody outside knows: so it posts at its turn.
    operation->prepare(device, CollectiveOperation::Posting::in_turn);
    return operation;
  }

 private:
  static std::span<const Handle> one_or_none(const Handle& handle) noexcept {
    return {handle.valid() ? &handle : nullptr, handle.valid() ? 1U : 0U};
  }
  std::shared_ptr<GroupState> group_;
  Communicator& communicator_;
  CollectiveCall call_;
};

}  // namespace muster::detail
