#include "group/meeting.hpp"

#include <fmt/format.h>

#include "muster/collective_error.hpp"
#include "schedule/dissemination.hpp"
#include "transport/ucx/tag.hpp"

namespace muster::detail {

namespace {

/// A member's record between hosts, followed by its payload.
struct WireRecord {
  std::uint64_t sequence;
  Fingerprint fingerprint;
  std::uint64_t payload_size;
};

BufferPlace place_of(const Handle& handle) {
  if (!handle.valid()) return {};
  const MemoryView view = memory_of(handle);
  return {view.page, view.page_offset};
}

}  // namespace

const Slot& Meeting::slot(int member) const {
  const auto& group = communicator_.group;
  return group.page().slot(group.shape().members[member].local_index, call_.sequence);
}

void Meeting::post() {
  auto& group = communicator_.group;
  Slot& own = group.page().slot(communicator_.local_index, call_.sequence);
  own.fingerprint = call_.fingerprint;
  if (call_.source_failure) {
    own.fingerprint.source_failed = 1;
    const std::string_view text = call_.source_failure->what();
    own.set_payload(text.data(), std::min<std::size_t>(text.size(), 255));
  } else if (is_small(call_.fingerprint, group.shape())) {
    own.set_payload(call_.source_data, payload_of(call_, group.shape().members.size(), communicator_.index));
  } else {
    own.set_payload(nullptr, 0);
    own.source = place_of(call_.source);
    own.destination = place_of(call_.destination);
    own.scratch = place_of(call_.scratch);
    for (const BufferPlace& place : {own.source, own.destination, own.scratch}) group.lend(place.page);
  }
  own.posted.store(call_.sequence, std::memory_order_release);
  group.ring_members(communicator_.local_index);
}

bool Meeting::all_posted() const {
  const auto& page = communicator_.group.page();
  const std::size_t members = communicator_.group.shape().hosts[communicator_.group.own_host()].size();
  for (std::size_t member = 0; member < members; ++member) {
    if (page.slot(member, call_.sequence).posted.load(std::memory_order_acquire) != call_.sequence) return false;
  }
  return true;
}

Progress Meeting::run() {
  auto& group = communicator_.group;
  co_await until([this] { return all_posted(); });
  if (!group.shape().one_host()) {
    auto& head = group.page().remote_head(call_.sequence);
    if (communicator_.local_index == 0) {
      co_await exchange_among_hosts();
      head.posted.store(call_.sequence, std::memory_order_release);
      group.ring_members(communicator_.local_index);
    } else {
      co_await until([&] { return head.posted.load(std::memory_order_acquire) == call_.sequence; });
    }
    read_remote_records();
  }
  check_agreement();
}

Progress Meeting::exchange_among_hosts() {
  auto& group = communicator_.group;
  const auto& shape = group.shape();
  auto& worker = *group.fabric().ucx;
  const int hosts = static_cast<int>(shape.hosts.size());
  const std::size_t limit = group.remote_bytes();
  std::byte* area = group.page().remote(call_.sequence);

  // The blocks of this host and the following ones, one after another, each led by its size.
  std::vector<std::byte> all(limit + hosts * sizeof(std::uint64_t));
  std::vector<std::size_t> ends;  // of each block held so far
  std::size_t used = sizeof(std::uint64_t);
  const auto append = [&](const void* data, std::size_t size) {
    std::memcpy(all.data() + used, data, size);
    used += size;
  };
  for (const int member : shape.hosts[group.own_host()]) {
    const Slot& own = slot(member);
    const WireRecord record{call_.sequence, own.fingerprint, own.payload_size};
    append(&record, sizeof record);
    append(own.payload, own.payload_size);
  }
  const std::uint64_t own_size = used - sizeof(std::uint64_t);
  std::memcpy(all.data(), &own_size, sizeof own_size);
  ends.push_back(used);

  const int me = communicator_.index;
  std::uint32_t round = 0;
  for (const DisseminationStep& step : dissemination_schedule(hosts, group.own_host())) {
    const int to = shape.lane_member(step.send_to, 0);
    const int from = shape.lane_member(step.recv_from, 0);
    const RankId to_rank = shape.members[to].rank();
    ucx::Request send = worker.send(to_rank, ucx::tag(group.number_of(to_rank), to, me, ucx::Channel::meeting, round),
                                    all.data(), ends[step.blocks - 1]);
    ucx::Request receive = worker.receive(ucx::tag(group.number(), me, from, ucx::Channel::meeting, round),
                                          all.data() + used, all.size() - used);
    co_await until([&] { return receive.done() && send.done(); });
    const std::size_t received_end = used + receive.size();
    while (used < received_end) {
      std::uint64_t size = 0;
      std::memcpy(&size, all.data() + used, sizeof size);
      used += sizeof size + size;
      ends.push_back(used);
    }
    ++round;
  }
  // Records of all other hosts, in the order of the hosts from the next one on.
  std::memcpy(area, all.data() + ends.front(), used - ends.front());
}

void Meeting::read_remote_records() {
  const auto& group = communicator_.group;
  const auto& shape = group.shape();
  const int hosts = static_cast<int>(shape.hosts.size());
  remote_.assign(shape.members.size(), {});
  remote_fingerprints_.assign(shape.members.size(), {});
  const std::byte* at = group.page().remote(call_.sequence);
  for (int distance = 1; distance < hosts; ++distance) {
    at += sizeof(std::uint64_t);
    for (const int member : shape.hosts[(group.own_host() + distance) % hosts]) {
      WireRecord record;
      std::memcpy(&record, at, sizeof record);
      at += sizeof record;
      remote_fingerprints_[member] = record.fingerprint;
      remote_[member] = {&remote_fingerprints_[member], at, record.payload_size};
      at += record.payload_size;
    }
  }
}

MeetingRecord Meeting::record(int member) const {
  if (communicator_.group.shape().members[member].host != communicator_.group.own_host()) return remote_[member];
  const Slot& found = slot(member);
  return {&found.fingerprint, found.payload, found.payload_size};
}

void Meeting::check_agreement() const {
  const auto& group = communicator_.group;
  const int members = group.shape().size();
  const Fingerprint first = *record(0).fingerprint;
  int failed = -1;
  for (int member = 0; member < members; ++member) {
    const Fingerprint& other = *record(member).fingerprint;
    if (!other.matches(first)) {
      throw CollectiveMismatch(fmt::format(
          "operation {} of the {} differs between ranks: rank {} (member 0) issued {}, rank {} (member {}) issued {}; all "
          "members must issue the same operations in the same order",
          call_.sequence, group.describe(), group.shape().members[0].rank().value, muster::detail::describe(first),
          group.shape().members[member].rank().value, member, muster::detail::describe(other)));
    }
    if (other.source_failed != 0 && failed < 0) failed = member;
  }
  if (failed >= 0) {
    const MeetingRecord found = record(failed);
    const RankId rank = group.shape().members[failed].rank();
    throw PeerFailed(rank, fmt::format("rank {} had nothing to give to {} (operation {}): {}", rank.value,
                                       name(call_.operation()), call_.sequence,
                                       std::string_view(reinterpret_cast<const char*>(found.payload), found.payload_size)));
  }
}

Absent Meeting::absent() const {
  const auto& group = communicator_.group;
  if (!group.formed()) return group.missing();
  std::string list;
  for (const int member : group.shape().hosts[group.own_host()]) {
    if (slot(member).posted.load(std::memory_order_acquire) == call_.sequence) continue;
    list +=
        fmt::format("{}rank {} (member {})", list.empty() ? "" : ", ", group.shape().members[member].rank().value, member);
  }
  if (!list.empty()) return {list + " did not issue it", true};
  return {group.shape().one_host() ? "a member did not finish it" : "a rank of another host did not issue or finish it",
          false};
}

}  // namespace muster::detail
