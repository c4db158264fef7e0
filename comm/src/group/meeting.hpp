#pragma once

#include <vector>

#include "group/collective_call.hpp"
#include "group/guarded_progress.hpp"
#include "group/progress.hpp"

namespace muster::detail {

/// What one member brought to the meeting.
struct MeetingRecord {
  const Fingerprint* fingerprint = nullptr;
  const std::byte* payload = nullptr;
  std::size_t payload_size = 0;
};

/// Every collective begins with a meeting: an all-gather of fingerprints, with the payload of small operations inside.
/// On a host it goes through the control page, between hosts the first member of each carries the records by
/// dissemination. So operations that do not match are found before any data moves, by every member.
class Meeting {
 public:
  Meeting(Communicator& communicator, const CollectiveCall& call) : communicator_(communicator), call_(call) {}

  /// Posts this member's record. Once, and first.
  void post();
  /// Whether the records of all members of this host are there.
  [[nodiscard]] bool all_posted() const;
  /// Waits for all members' records. Throws CollectiveMismatch, PeerFailed.
  Progress run();
  /// What run() ends with: for a group on one host, once all_posted(), it is all that is left.
  void check_agreement() const;
  /// After run(), until this member posts its next-but-one operation.
  [[nodiscard]] MeetingRecord record(int member) const;
  /// The slot of a member of this host.
  [[nodiscard]] const Slot& slot(int member) const;
  /// The members that have not come yet.
  [[nodiscard]] Absent absent() const;

 private:
  Progress exchange_among_hosts();
  void read_remote_records();

  Communicator& communicator_;
  const CollectiveCall& call_;
  std::vector<MeetingRecord> remote_;  // by member; only those of other hosts
  std::vector<Fingerprint> remote_fingerprints_;
};

}  // namespace muster::detail
