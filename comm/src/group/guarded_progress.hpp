#pragma once

#include <functional>
#include <memory>
#include <string>

#include "group/group_state.hpp"
#include "group/progress.hpp"

namespace muster::detail {

/// Drives an algorithm of a group and ends it where its peers cannot: at the deadline, and when the group is broken.
class GuardedProgress {
 public:
  explicit GuardedProgress(std::shared_ptr<GroupState> group) : group_(std::move(group)) {}

  /// The clock starts now: when the operation's turn in its stream has come.
  void start(Progress progress) {
    progress_ = std::move(progress);
    deadline_ = Deadline::after(group_->fabric().timeout);
  }
  [[nodiscard]] bool started() const noexcept { return progress_.valid(); }

  /// True when finished. `what` and `absent` make the message of a missed deadline. Throws what ended it; anything but a failure of a member's own data breaks the group.
  bool poll(const std::function<std::string()>& what, const std::function<std::string()>& absent);
  [[nodiscard]] GroupState& group() const noexcept { return *group_; }
  [[nodiscard]] const std::shared_ptr<GroupState>& shared_group() const noexcept { return group_; }
  /// Throws if the group is broken.
  void require_whole() const {
    if (group_->is_broken()) group_->broken()->raise();
  }

 private:
  std::shared_ptr<GroupState> group_;
  Progress progress_;
  Deadline deadline_ = Deadline::never();
  unsigned polls_ = 0;
};

}  // namespace muster::detail
