#include "group/small_collective.hpp"

#include <array>
#include <cstring>

namespace muster::detail {

namespace {

void copy_bytes(std::byte* destination, const std::byte* source, std::size_t size) {
  if (size != 0) std::memcpy(destination, source, size);
}

/// Reduces the bytes [offset, offset + block) of all contributions, in the order of the members.
void reduce_records(const CollectiveCall& call, const Meeting& meeting, int members, std::size_t offset) {
  constexpr int on_stack = 64;
  std::array<const void*, on_stack> few;
  std::vector<const void*> many;
  if (members > on_stack) many.resize(members);
  const void** sources = members > on_stack ? many.data() : few.data();
  for (int member = 0; member < members; ++member) sources[member] = meeting.record(member).payload + offset;
  call.reducer().reduce(call.destination_data, sources, static_cast<std::size_t>(members), call.block() / call.element());
}

}  // namespace

void finish_small(const Communicator& communicator, const CollectiveCall& call, const Meeting& meeting) {
  const int members = communicator.group.shape().size();
  const auto me = static_cast<std::size_t>(communicator.index);
  const std::size_t block = call.block();
  switch (call.operation()) {
    case Operation::all_reduce:
      return reduce_records(call, meeting, members, 0);
    case Operation::reduce:
      if (communicator.index == call.root()) reduce_records(call, meeting, members, 0);
      return;
    case Operation::reduce_scatter:
      return reduce_records(call, meeting, members, me * block);
    case Operation::gather:
      if (communicator.index != call.root()) return;
      [[fallthrough]];
    case Operation::all_gather:
      for (int member = 0; member < members; ++member) {
        copy_bytes(call.destination_data + member * block, meeting.record(member).payload, block);
      }
      return;
    case Operation::broadcast:
      return copy_bytes(call.destination_data, meeting.record(call.root()).payload, block);
    case Operation::scatter:
      return copy_bytes(call.destination_data, meeting.record(call.root()).payload + me * block, block);
    case Operation::all_to_all:
      for (int member = 0; member < members; ++member) {
        copy_bytes(call.destination_data + member * block, meeting.record(member).payload + me * block, block);
      }
      return;
    case Operation::barrier:
      return;
  }
}

}  // namespace muster::detail
