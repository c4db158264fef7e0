#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "group/fingerprint.hpp"
#include "group/group_state.hpp"
#include "muster/client_group.hpp"
#include "reduce/reducer.hpp"

namespace muster::detail {

/// One member's part of a collective. Made and checked at the call; addresses are filled in when it runs.
struct CollectiveCall {
  Fingerprint fingerprint;
  Reproducibility reproducibility = Reproducibility::exact;
  std::uint64_t sequence = 0;
  Handle source, destination, scratch;  // empty where not used
  std::byte* source_data = nullptr;
  std::byte* destination_data = nullptr;
  std::byte* scratch_data = nullptr;
  Failure source_failure;

  [[nodiscard]] std::size_t block() const noexcept { return fingerprint.bytes; }
  [[nodiscard]] Operation operation() const noexcept { return fingerprint.operation; }
  [[nodiscard]] int root() const noexcept { return fingerprint.root; }
  /// Bytes of one element; 1 where the operation does not look at elements.
  [[nodiscard]] std::size_t element() const noexcept {
    return fingerprint.dtype == Fingerprint::no_dtype ? 1 : size_of(static_cast<Dtype>(fingerprint.dtype));
  }
  [[nodiscard]] const Reducer& reducer() const noexcept {
    return reducer_for(static_cast<Dtype>(fingerprint.dtype), static_cast<ReduceOp>(fingerprint.op));
  }
};

/// Bytes that each member contributes (for broadcast and scatter: the root) and that the whole group then carries.
struct Traffic {
  std::size_t payload = 0;
  std::size_t total = 0;
};
Traffic traffic_of(const Fingerprint& fingerprint, std::size_t members) noexcept;

/// Whether all contributions travel with the meeting itself: the same answer on all members.
bool is_small(const Fingerprint& fingerprint, const GroupShape& shape) noexcept;

/// Bytes of scratch memory that this member's part needs, in a page that the other members of the host can map.
std::size_t scratch_bytes(const CollectiveCall& call, const GroupShape& shape, int index) noexcept;

/// Bytes that a member brings to the meeting of a small operation.
std::size_t payload_of(const CollectiveCall& call, std::size_t members, int index) noexcept;

}  // namespace muster::detail
