#include "group/group_state.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "bootstrap/message.hpp"
#include "muster/collective_error.hpp"

namespace muster::detail {

namespace {
constexpr std::size_t small_payload_total = std::size_t{256} << 10U;
constexpr std::size_t record_bytes_most = 320;  // of a member without its payload, the text of a failure included
}  // namespace

GroupState::GroupState(std::shared_ptr<Fabric> fabric, std::vector<DeviceId> devices, std::uint32_t number)
    : fabric_(std::move(fabric)),
      devices_(std::move(devices)),
      shape_(GroupShape::of(devices_, [this](RankId rank) { return fabric_->host_of_rank[rank.value]; })),
      number_(number) {
  for (int index = 0; index < shape_.size(); ++index) {
    const auto& member = shape_.members[index];
    if (member.rank() != fabric_->rank) continue;
    own_host_ = member.host;
    communicators_.push_back(std::make_unique<Communicator>(Communicator{*this,
                                                                         fabric_->clients[member.device.ordinal],
                                                                         member.device,
                                                                         index,
                                                                         member.local_index,
                                                                         make_stream_id(),
                                                                         0,
                                                                         {},
                                                                         {},
                                                                         std::make_unique<IssuedOperations>()}));
  }
}

Communicator& GroupState::communicator_of(const Client& client) {
  const DeviceId device = client.device_id();
  for (const auto& communicator : communicators_) {
    if (communicator->device == device) return *communicator;
  }
  throw UsageError(fmt::format("device {} is not a member of the {}", to_string(client.device_id()), describe()));
}

std::string GroupState::describe() const {
  constexpr std::size_t shown = 8;
  std::string list;
  for (std::size_t i = 0; i < devices_.size() && i < shown; ++i) list += (i ? ", " : "") + to_string(devices_[i]);
  if (devices_.size() > shown) list += ", …";
  return fmt::format("group of {} devices ({})", devices_.size(), list);
}

std::size_t GroupState::remote_bytes() const {
  return shape_.one_host() ? 0 : small_payload_total + devices_.size() * record_bytes_most;
}

std::size_t GroupState::page_size() const { return GroupPage::size(shape_.hosts[own_host_].size(), remote_bytes()); }

void GroupState::set_page(int descriptor, std::size_t size) {
  const std::lock_guard lock(forming_mutex_);
  if (page_ || size != page_size()) return;
  page_.emplace(descriptor, size);
  page_view_.emplace(page_->data(), shape_.hosts[own_host_].size(), remote_bytes());
  for (const auto& communicator : communicators_) {
    page_view_->line(communicator->local_index).bell_offset.store(doorbell_offset(communicator->client) + 1);
  }
  complete_if_ready();
}

void GroupState::set_numbers(std::map<int, std::uint32_t> number_of_rank) {
  const std::lock_guard lock(forming_mutex_);
  number_of_rank_ = std::move(number_of_rank);
  complete_if_ready();
}

void GroupState::complete_if_ready() {
  if (!page_ || number_of_rank_.empty() || formed()) return;
  for (const int member : shape_.hosts[own_host_]) {
    const RankId rank = shape_.members[member].rank();
    bells_.push_back(rank == fabric_->rank ? doorbell_page().data : fabric_->probe.bells_of(rank).data());
  }
  formed_.store(true, std::memory_order_release);
  fabric_->ring_all();
}

Absent GroupState::missing() const {
  {
    const std::lock_guard lock(forming_mutex_);
    if (!number_of_rank_.empty()) return {"its control page has not come from the first rank of this host", false};
  }
  const auto ranks = not_joined_ ? not_joined_(*this) : std::vector<int>{};
  if (ranks.empty()) {
    return {fmt::format("rank {}, its first, has not said that all have joined", shape_.members.front().rank().value),
            false};
  }
  std::string list;
  for (const int rank : ranks) list += fmt::format("{}rank {}", list.empty() ? "" : ", ", rank);
  return {list + " did not issue an operation of it; do all ranks name the same devices in the same order?", true};
}

void GroupState::ring_members(int except_local_index) const {
  const int members = static_cast<int>(bells_.size());
  for (int member = 0; member < members; ++member) {
    if (member == except_local_index) continue;
    const std::uint64_t offset = page_view_->line(member).bell_offset.load(std::memory_order_seq_cst);
    if (offset == 0 || offset + sizeof(Doorbell) > std::size_t{64} << 10U) continue;
    reinterpret_cast<Doorbell*>(bells_[member] + offset - 1)->ring();
  }
}

std::byte* GroupState::find(int index, const BufferPlace& place) const {
  const RankId rank = shape_.members[index].rank();
  std::byte* page = rank == fabric_->rank ? page_of(place.page).data : fabric_->pages->find(rank, place.page);
  return page ? page + place.offset : nullptr;
}

void GroupState::lend(std::uint64_t page_id) const {
  if (page_id == 0) return;
  for (const int member : shape_.hosts[own_host_]) fabric_->pages->lend(page_id, shape_.members[member].rank());
}

bool GroupState::remember(const Failure& failure) {
  const std::lock_guard lock(mutex_);
  if (failure_) return false;
  failure_ = failure;
  broken_.store(true, std::memory_order_release);
  return true;
}

void GroupState::end_with(const Failure& failure) { remember(failure); }

void GroupState::break_with(const Failure& failure, Tell tell) {
  if (!remember(failure)) return;
  spdlog::error("muster: rank {}: the {} is broken: {}", fabric_->rank.value, describe(), failure->what());
  if (tell == Tell::all_members) {
    const std::string text = MessageWriter().put(devices_).put(std::string_view(pack_failure(failure))).take();
    for (const int rank : shape_.ranks) {
      if (rank != fabric_->rank.value) fabric_->links.send(RankId{rank}, MessageType::broken, text);
    }
  }
  fabric_->ring_all();
}

Failure GroupState::broken() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::string pack_failure(const Failure& failure) {
  int rank = -1;
  if (const auto* lost = dynamic_cast<const PeerLost*>(failure.get())) rank = lost->rank().value;
  if (const auto* failed = dynamic_cast<const PeerFailed*>(failure.get())) rank = failed->rank().value;
  return MessageWriter().put(failure->code()).put(rank).put(std::string_view(failure->what())).take();
}

Failure unpack_failure(std::string_view bytes) {
  MessageReader reader(bytes);
  const auto code = reader.get<ErrorCode>();
  const RankId rank{reader.get<int>()};
  const std::string text = reader.text();
  if (code == ErrorCode::mismatch) return std::make_shared<const CollectiveMismatch>(text);
  if (code == ErrorCode::timed_out) return std::make_shared<const TimedOut>(text);
  if (code == ErrorCode::out_of_memory) return std::make_shared<const OutOfMemory>(text);
  if (code == ErrorCode::peer_lost) return std::make_shared<const PeerLost>(rank, text);
  if (code == ErrorCode::peer_failed) return std::make_shared<const PeerFailed>(rank, text);
  return std::make_shared<const Error>(code, text);
}

}  // namespace muster::detail
