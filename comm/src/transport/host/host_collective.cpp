#include "transport/host/host_collective.hpp"

#include <cstring>

#include "schedule/shard.hpp"

namespace muster::detail {

namespace {

using Buffer = LocalPhase::Buffer;

void copy_bytes(std::byte* destination, const std::byte* source, std::size_t size) {
  if (size != 0 && destination != source) std::memcpy(destination, source, size);
}

/// One collective on one host. A member of this class per operation would repeat the same state.
class HostCollective {
 public:
  HostCollective(Communicator& communicator, const CollectiveCall& call, const Meeting& meeting)
      : call_(call),
        phase_(communicator, call, meeting),
        members_(static_cast<int>(phase_.members().size())),
        me_(communicator.index) {}

  Progress all_reduce();
  Progress reduce();
  Progress reduce_scatter();
  Progress all_gather();
  Progress from_root(std::size_t offset);
  Progress gather();
  Progress all_to_all();

 private:
  [[nodiscard]] Shard shard(int member) const {
    return shard_of(call_.block() / call_.element(), static_cast<std::size_t>(members_), static_cast<std::size_t>(member),
                    shard_grain(call_));
  }
  /// Waits until the buffer of every member is mapped here.
  Progress find_all(Buffer buffer, std::vector<std::byte*>& found);
  Progress find(int member, Buffer buffer, std::byte*& found);
  /// Waits until every member has reached `step`, itself included.
  Progress meet(std::uint64_t step);
  void reduce_sources(const std::vector<std::byte*>& sources, std::size_t offset, std::byte* destination,
                      std::size_t count) const;

  const CollectiveCall& call_;
  LocalPhase phase_;
  int members_;
  int me_;
};

Progress HostCollective::find(int member, Buffer buffer, std::byte*& found) {
  co_await until([this, member, buffer, &found] { return (found = phase_.find(member, buffer)) != nullptr; });
}

Progress HostCollective::find_all(Buffer buffer, std::vector<std::byte*>& found) {
  found.resize(members_);
  for (int member = 0; member < members_; ++member) co_await find(member, buffer, found[member]);
}

Progress HostCollective::meet(std::uint64_t step) {
  phase_.reach(step);
  co_await until([this, step] { return phase_.all_reached(step); });
}

void HostCollective::reduce_sources(const std::vector<std::byte*>& sources, std::size_t offset, std::byte* destination,
                                    std::size_t count) const {
  std::vector<const void*> from(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) from[i] = sources[i] + offset;
  call_.reducer().reduce(destination, from.data(), from.size(), count);
}

// Each member reduces its shard from all sources, then pulls the other shards: in place works, since nobody but its owner
// reads a shard of the sources.
Progress HostCollective::all_reduce() {
  std::vector<std::byte*> buffers;
  co_await find_all(Buffer::source, buffers);
  const Shard own = shard(me_);
  reduce_sources(buffers, own.begin * call_.element(), call_.destination_data + own.begin * call_.element(), own.count);
  co_await meet(1);
  co_await find_all(Buffer::destination, buffers);
  for (int step = 1; step < members_; ++step) {
    const int member = (me_ + step) % members_;
    const Shard part = shard(member);
    copy_bytes(call_.destination_data + part.begin * call_.element(), buffers[member] + part.begin * call_.element(),
               part.count * call_.element());
  }
  co_await meet(2);
}

// As all_reduce, but shards go to scratch memory, where the root collects them.
Progress HostCollective::reduce() {
  std::vector<std::byte*> buffers;
  co_await find_all(Buffer::source, buffers);
  const Shard own = shard(me_);
  const bool root = me_ == call_.root();
  std::byte* target = root ? call_.destination_data + own.begin * call_.element() : call_.scratch_data;
  reduce_sources(buffers, own.begin * call_.element(), target, own.count);
  co_await meet(1);
  if (root) {
    for (int member = 0; member < members_; ++member) {
      if (member == me_) continue;
      std::byte* scratch = nullptr;
      co_await find(member, Buffer::scratch, scratch);
      const Shard part = shard(member);
      copy_bytes(call_.destination_data + part.begin * call_.element(), scratch, part.count * call_.element());
    }
    phase_.reach(2);
  } else {
    co_await until([this] { return phase_.reached(call_.root(), 2); });
  }
}

Progress HostCollective::reduce_scatter() {
  std::vector<std::byte*> sources;
  co_await find_all(Buffer::source, sources);
  reduce_sources(sources, static_cast<std::size_t>(me_) * call_.block(), call_.destination_data,
                 call_.block() / call_.element());
  co_await meet(1);
}

Progress HostCollective::all_gather() {
  std::vector<std::byte*> sources;
  co_await find_all(Buffer::source, sources);
  for (int step = 0; step < members_; ++step) {
    const int member = (me_ + step) % members_;
    copy_bytes(call_.destination_data + static_cast<std::size_t>(member) * call_.block(), sources[member], call_.block());
  }
  co_await meet(1);
}

// broadcast and scatter: everybody takes its part from the root's source.
Progress HostCollective::from_root(std::size_t offset) {
  std::byte* source = nullptr;
  co_await find(call_.root(), Buffer::source, source);
  copy_bytes(call_.destination_data, source + offset, call_.block());
  phase_.reach(1);
  if (me_ == call_.root()) co_await until([this] { return phase_.all_reached(1); });
}

Progress HostCollective::gather() {
  if (me_ == call_.root()) {
    std::vector<std::byte*> sources;
    co_await find_all(Buffer::source, sources);
    for (int member = 0; member < members_; ++member) {
      copy_bytes(call_.destination_data + static_cast<std::size_t>(member) * call_.block(), sources[member], call_.block());
    }
    phase_.reach(1);
  } else {
    co_await until([this] { return phase_.reached(call_.root(), 1); });
  }
}

Progress HostCollective::all_to_all() {
  // In place the blocks to send are in scratch memory by now, on every member: the handles are as large as each other's.
  std::vector<std::byte*> sources(members_);
  for (int member = 0; member < members_; ++member) {
    co_await find(member, phase_.has_scratch(member) ? Buffer::scratch : Buffer::source, sources[member]);
  }
  for (int step = 0; step < members_; ++step) {
    const int member = (me_ + step) % members_;
    copy_bytes(call_.destination_data + static_cast<std::size_t>(member) * call_.block(),
               sources[member] + static_cast<std::size_t>(me_) * call_.block(), call_.block());
  }
  co_await meet(1);
}

}  // namespace

std::size_t shard_grain(const CollectiveCall& call) noexcept {
  constexpr std::size_t cache_line = 64;
  return cache_line / call.element();
}

Progress host_collective(Communicator& communicator, const CollectiveCall& call, const Meeting& meeting) {
  HostCollective collective(communicator, call, meeting);
  switch (call.operation()) {
    case Operation::all_reduce:
      co_await collective.all_reduce();
      break;
    case Operation::reduce:
      co_await collective.reduce();
      break;
    case Operation::reduce_scatter:
      co_await collective.reduce_scatter();
      break;
    case Operation::all_gather:
      co_await collective.all_gather();
      break;
    case Operation::broadcast:
      co_await collective.from_root(0);
      break;
    case Operation::scatter:
      co_await collective.from_root(static_cast<std::size_t>(communicator.index) * call.block());
      break;
    case Operation::gather:
      co_await collective.gather();
      break;
    case Operation::all_to_all:
      co_await collective.all_to_all();
      break;
    case Operation::barrier:
      break;
  }
}

}  // namespace muster::detail
