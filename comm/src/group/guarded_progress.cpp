#include "group/guarded_progress.hpp"

#include <fmt/format.h>

namespace muster::detail {

bool GuardedProgress::poll(const std::function<std::string()>& what, const std::function<std::string()>& absent) {
  constexpr unsigned polls_per_clock = 16;  // reading the clock costs as much as a poll
  try {
    if (progress_.poll()) {
      progress_ = Progress();
      return true;
    }
    require_whole();
    if (++polls_ % polls_per_clock == 0 && deadline_.passed()) {
      throw TimedOut(fmt::format("{} of the {} did not finish within {} s: {}; raise MUSTER_TIMEOUT if the ranks may be this "
                                 "far apart",
                                 what(), group_->describe(),
                                 std::chrono::duration<double>(group_->fabric().timeout).count(), absent()));
    }
    return false;
  } catch (...) {
    const Failure failure = current_failure();
    progress_ = Progress();  // lets go of buffers and requests
    if (failure->code() != ErrorCode::peer_failed) group_->break_with(failure, GroupState::Tell::all_members);
    failure->raise();
    __builtin_unreachable();  // raise() does not return, which the compiler does not see through the virtual call
  }
}

}  // namespace muster::detail
