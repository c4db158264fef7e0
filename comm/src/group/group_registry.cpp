#include "group/group_registry.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <set>

#include "bootstrap/message.hpp"
#include "muster/collective_error.hpp"

namespace muster::detail {

namespace {

/// A new control page, all zero, with its memory reserved.
UniqueFd make_group_page(std::size_t size) {
  UniqueFd page(memfd_create("muster-group", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!page.valid() || ftruncate(page.get(), static_cast<off_t>(size)) != 0 ||
      posix_fallocate(page.get(), 0, static_cast<off_t>(size)) != 0) {
    throw OutOfMemory(
        fmt::format("cannot reserve {} bytes for the control page of a group; free memory, or raise the limit "
                    "of open files (ulimit -n)",
                    size));
  }
  fcntl(page.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return page;
}

std::vector<int> ranks_of(const std::vector<DeviceId>& devices) {
  std::set<int> ranks;
  for (const DeviceId& device : devices) ranks.insert(device.rank.value);
  return {ranks.begin(), ranks.end()};
}

}  // namespace

void GroupRegistry::install() {
  auto& links = fabric_->links;
  links.on(MessageType::join, [this](RankId from, const std::string& payload, UniqueFd) { on_join(from, payload); });
  links.on(MessageType::formed, [this](RankId, const std::string& payload, UniqueFd) { on_formed(payload); });
  links.on(MessageType::group_page,
           [this](RankId, const std::string& payload, UniqueFd descriptor) { on_page(payload, std::move(descriptor)); });
  links.on(MessageType::broken, [this](RankId, const std::string& payload, UniqueFd) {
    MessageReader reader(payload);
    const Key devices = reader.devices();
    const Failure failure = unpack_failure(reader.text());
    std::shared_ptr<GroupState> state;
    {
      const std::lock_guard lock(mutex_);
      const auto found = groups_.find(devices);
      if (found != groups_.end()) state = found->second.state;
    }
    if (state) state->break_with(failure, GroupState::Tell::nobody);
  });
  links.on_lost([this](RankId rank, const std::string& how) { lose(rank, how); });
}

std::shared_ptr<GroupState> GroupRegistry::get(const std::vector<DeviceId>& devices) {
  std::shared_ptr<GroupState> state;
  UniqueFd page;
  std::size_t page_size = 0;
  Failure lost;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = groups_[devices];
    if (entry.state) return entry.state;
    entry.state = state = std::make_shared<GroupState>(fabric_, devices, next_number_++);
    state->set_not_joined([this](const GroupState& group) { return not_joined(group); });
    page = std::move(entry.page);
    page_size = entry.page_size;
    for (const int rank : state->shape().ranks) {
      const auto found = lost_.find(rank);
      if (found != lost_.end()) {
        lost = std::make_shared<const PeerLost>(RankId{rank}, fmt::format("rank {} is lost: {}", rank, found->second));
      }
    }
  }
  if (lost) {
    state->break_with(lost, GroupState::Tell::nobody);
    return state;
  }
  if (page.valid()) state->set_page(page.get(), page_size);
  begin(*state);
  return state;
}

void GroupRegistry::begin(GroupState& state) {
  const auto& shape = state.shape();
  const auto& local = shape.hosts[state.own_host()];
  if (shape.members[local.front()].rank() == fabric_->rank) {
    // The first process of each host makes the control page.
    const UniqueFd page = make_group_page(state.page_size());
    const std::string text = MessageWriter().put(state.devices()).put(std::uint64_t{state.page_size()}).take();
    std::set<int> told;
    for (const int member : local) {
      const RankId rank = shape.members[member].rank();
      if (told.insert(rank.value).second) fabric_->links.send(rank, MessageType::group_page, text, page.get());
    }
  }
  fabric_->links.send(shape.members.front().rank(), MessageType::join,
                      MessageWriter().put(state.devices()).put(state.number()).take());
}

void GroupRegistry::on_join(RankId from, const std::string& payload) {
  MessageReader reader(payload);
  const Key devices = reader.devices();
  if (devices.empty()) return;
  const auto ranks = ranks_of(devices);
  std::string formed;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = groups_[devices];
    entry.joined[from.value] = reader.get<std::uint32_t>();
    for (const int rank : ranks) {
      if (entry.joined.count(rank) == 0) return;
    }
    MessageWriter writer;
    writer.put(devices).put(static_cast<std::uint32_t>(ranks.size()));
    for (const auto& [rank, number] : entry.joined) writer.put(rank).put(number);
    formed = writer.take();
  }
  for (const int rank : ranks) fabric_->links.send(RankId{rank}, MessageType::formed, formed);
}

void GroupRegistry::on_formed(const std::string& payload) {
  MessageReader reader(payload);
  const Key devices = reader.devices();
  std::map<int, std::uint32_t> numbers;
  const auto count = reader.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count; ++i) {
    const int rank = reader.get<int>();
    numbers[rank] = reader.get<std::uint32_t>();
  }
  std::shared_ptr<GroupState> state;
  {
    const std::lock_guard lock(mutex_);
    state = groups_[devices].state;
  }
  if (state) state->set_numbers(std::move(numbers));
}

void GroupRegistry::on_page(const std::string& payload, UniqueFd descriptor) {
  MessageReader reader(payload);
  const Key devices = reader.devices();
  const auto size = reader.get<std::uint64_t>();
  std::shared_ptr<GroupState> state;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = groups_[devices];
    state = entry.state;
    if (!state) {
      entry.page = std::move(descriptor);
      entry.page_size = size;
      return;
    }
  }
  state->set_page(descriptor.get(), size);
}

void GroupRegistry::lose(RankId rank, const std::string& how) {
  if (departures_expected_.load()) return;
  std::vector<std::shared_ptr<GroupState>> broken;
  {
    const std::lock_guard lock(mutex_);
    lost_.emplace(rank.value, how);
    for (const auto& [devices, entry] : groups_) {
      const auto& ranks = ranks_of(devices);
      if (entry.state && std::find(ranks.begin(), ranks.end(), rank.value) != ranks.end()) broken.push_back(entry.state);
    }
  }
  fabric_->pages->forget(rank);
  const Failure failure = std::make_shared<const PeerLost>(
      rank, fmt::format("rank {} on host {} is lost: {}", rank.value, fabric_->cards[rank.value].host_name, how));
  for (const auto& state : broken) state->break_with(failure, GroupState::Tell::all_members);
}

void GroupRegistry::close(const Failure& failure) {
  std::map<Key, Entry> ending;
  {
    const std::lock_guard lock(mutex_);
    ending.swap(groups_);
  }
  for (const auto& [devices, entry] : ending) {
    if (entry.state) entry.state->end_with(failure);
  }
}

std::vector<int> GroupRegistry::not_joined(const GroupState& group) {
  std::vector<int> missing;
  if (group.shape().members.front().rank() != fabric_->rank) return missing;
  const std::lock_guard lock(mutex_);
  const auto found = groups_.find(group.devices());
  if (found == groups_.end()) return missing;
  for (const int rank : group.shape().ranks) {
    if (found->second.joined.count(rank) == 0) missing.push_back(rank);
  }
  return missing;
}

}  // namespace muster::detail
