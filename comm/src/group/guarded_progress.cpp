#include "group/guarded_progress.hpp"

#include <fmt/format.h>

namespace muster::detail {

bool GuardedProgress::time_is_up() {
  constexpr unsigned polls_per_clock = 16;  // reading the clock costs as much as a poll
  if (++polls_ % polls_per_clock != 0) return false;
  if (!deadline_) deadline_ = Deadline::after(group_->fabric().timeout);
  return deadline_->passed();
}

void GuardedProgress::give_up(const std::string& what, const Absent& absent) {
  if (!absent.named && !std::exchange(extended_, true)) {
    constexpr auto grace = std::chrono::milliseconds(500);
    deadline_ = Deadline::after(grace);
    return;
  }
  throw TimedOut(
      fmt::format("{} of the {} did not finish within {} s: {}; raise MUSTER_TIMEOUT if the ranks may be this far apart",
                  what, group_->describe(), std::chrono::duration<double>(group_->fabric().timeout).count(), absent.text));
}

void GuardedProgress::fail() {
  const Failure failure = current_failure();
  if (failure->code() != ErrorCode::peer_failed) group_->break_with(failure, GroupState::Tell::all_members);
  failure->raise();
  __builtin_unreachable();  // raise() does not return, which the compiler does not see through the virtual call
}

}  // namespace muster::detail
