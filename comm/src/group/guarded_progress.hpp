#pragma once

#include <optional>
#include <string>

#include "group/group_state.hpp"
#include "group/progress.hpp"

namespace muster::detail {

/// Drives an algorithm of a group and ends it where its peers cannot: at the deadline, and when the group is broken.
class GuardedProgress {
 public:
  explicit GuardedProgress(std::shared_ptr<GroupState> group) : group_(std::move(group)) {}

  void start(Progress progress) { progress_ = std::move(progress); }
  [[nodiscard]] bool started() const noexcept { return progress_.valid(); }

  /// One step of the started algorithm; true when finished. `what` and `who` give the message of a missed deadline,
  /// which counts from the first step that had to wait. Throws what ended it; anything but a failure of a member's own
  /// data breaks the group.
  template <class What, class WhoIsAbsent>
  bool poll(const What& what, const WhoIsAbsent& who) {
    return poll([this] { return progress_.poll(); }, what, who);
  }
  /// The same for a step that is not a coroutine's.
  template <class Step, class What, class WhoIsAbsent>
  bool poll(const Step& step, const What& what, const WhoIsAbsent& who) {
    try {
      if (step()) {
        progress_ = Progress();
        return true;
      }
      if (group_->is_broken()) require_whole();
      if (time_is_up()) give_up(what(), who());
      return false;
    } catch (...) {
      progress_ = Progress();  // lets go of buffers and requests
      fail();
    }
  }

  [[nodiscard]] GroupState& group() const noexcept { return *group_; }
  /// Throws if the group is broken.
  void require_whole() const {
    if (group_->is_broken()) group_->broken()->raise();
  }

 private:
  bool time_is_up();
  /// Throws TimedOut; or, the first time, waits a little longer where another rank may know who is absent.
  void give_up(const std::string& what, const Absent& absent);
  /// Inside a catch block: breaks the group where it must, and throws on.
  [[noreturn]] void fail();

  std::shared_ptr<GroupState> group_;
  Progress progress_;
  std::optional<Deadline> deadline_;
  unsigned polls_ = 0;
  bool extended_ = false;
};

}  // namespace muster::detail
