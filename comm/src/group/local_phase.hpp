#pragma once

#include <vector>

#include "group/meeting.hpp"

namespace muster::detail {

/// How the members of one host go through a large operation together: where each other's buffers are, and who has
/// reached which step. Members only ever write their own memory; they read that of others between two steps.
class LocalPhase {
 public:
  LocalPhase(Communicator& communicator, const CollectiveCall& call, const Meeting& meeting)
      : communicator_(communicator),
        call_(call),
        meeting_(meeting),
        members_(communicator.group.shape().hosts[communicator.group.own_host()]) {}

  /// Members of this host, by local index.
  [[nodiscard]] const std::vector<int>& members() const noexcept { return members_; }

  enum class Buffer : std::uint8_t { source, destination, scratch };
  /// Where member `index`'s buffer is, in this process; null until its page has arrived.
  [[nodiscard]] std::byte* find(int index, Buffer buffer) const {
    const Slot& slot = meeting_.slot(index);
    const BufferPlace& place = buffer == Buffer::source        ? slot.source
                               : buffer == Buffer::destination ? slot.destination
                                                               : slot.scratch;
    return communicator_.group.find(index, place);
  }

  [[nodiscard]] bool has_scratch(int index) const { return meeting_.slot(index).scratch.page != 0; }

  /// Tells the others that this member has reached a step.
  void reach(std::uint64_t step) const {
    communicator_.group.page()
        .line(communicator_.local_index)
        .phase.store(call_.sequence * steps + step, std::memory_order_release);
    communicator_.group.ring_members(communicator_.local_index);
  }
  [[nodiscard]] bool reached(int index, std::uint64_t step) const {
    const int local = communicator_.group.shape().members[index].local_index;
    return communicator_.group.page().line(local).phase.load(std::memory_order_acquire) >= call_.sequence * steps + step;
  }
  [[nodiscard]] bool all_reached(std::uint64_t step) const {
    for (const int index : members_) {
      if (!reached(index, step)) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint64_t steps = std::uint64_t{1} << 24U;  // per operation
  Communicator& communicator_;
  const CollectiveCall& call_;
  const Meeting& meeting_;
  const std::vector<int>& members_;
};

}  // namespace muster::detail
