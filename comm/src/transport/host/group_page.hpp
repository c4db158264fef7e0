#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "group/fingerprint.hpp"

namespace muster::detail {

/// Where a member's buffer is: a page of its process, and the offset in it.
struct BufferPlace {
  std::uint64_t page = 0;
  std::uint64_t offset = 0;
};

/// What a member brings to a collective. Each member has `slots_per_member`, used in turns. In its turn t it may post
/// s < t + posts_ahead early. That is safe: it has seen what everybody posted for t-1, which nobody posted before its own
/// turn t - posts_ahead, so everybody is finished with s - slots_per_member.
inline constexpr std::uint64_t posts_ahead = 8;
inline constexpr std::uint64_t slots_per_member = 2 * posts_ahead;
struct alignas(128) Slot {
  static constexpr std::size_t payload_bytes = 16384;

  // Small operations need this line and as many of the next as their payload takes.
  std::atomic<std::uint64_t> posted;  ///< sequence number, stored last
  Fingerprint fingerprint;
  std::uint64_t payload_size;
  std::byte payload[payload_bytes];
  // What large operations need.
  alignas(64) BufferPlace source;
  BufferPlace destination;
  BufferPlace scratch;

  void set_payload(const void* data, std::size_t size) noexcept {
    payload_size = size;
    if (size != 0) std::memcpy(payload, data, size);
  }
};

/// One direction between two members of a host: one transfer at a time.
struct alignas(64) TransferSlot {
  std::atomic<std::uint64_t> posted;  ///< number of the transfer that the sender offers
  std::uint64_t bytes;
  std::uint64_t failed;
  BufferPlace source;
  std::atomic<std::uint64_t> taken;    ///< number of the transfer that the receiver has finished with
  std::atomic<std::uint64_t> refused;  ///< not 0: it had another size; what the receiver expected, plus one
};

/// A member's own words, apart from the slots.
struct alignas(128) MemberLine {
  std::atomic<std::uint64_t> phase;        ///< sequence and step of the operation that it has reached, as one number
  std::atomic<std::uint64_t> bell_offset;  ///< of its doorbell in its process's page, plus one; 0: not known yet
};

/// The control page of a group on one host. All zero is a valid new one. Offsets are computed the same by all members.
///
///   MemberLine[members] | TransferSlot[members * members] | RemoteHead[2] | Slot[members * 16] | remote[2][remote_bytes]
class GroupPage {
 public:
  struct alignas(64) RemoteHead {
    std::atomic<std::uint64_t> posted;  ///< sequence whose records of other hosts are in the remote area
  };

  GroupPage(std::byte* base, std::size_t members, std::size_t remote_bytes)
      : base_(base), members_(members), remote_bytes_(remote_bytes) {}

  static std::size_t size(std::size_t members, std::size_t remote_bytes) noexcept {
    return slots_at(members) + members * slots_per_member * sizeof(Slot) + 2 * remote_bytes;
  }

  [[nodiscard]] MemberLine& line(std::size_t member) const noexcept { return reinterpret_cast<MemberLine*>(base_)[member]; }
  [[nodiscard]] TransferSlot& transfer(std::size_t from, std::size_t to) const noexcept {
    return reinterpret_cast<TransferSlot*>(base_ + transfers_at(members_))[from * members_ + to];
  }
  [[nodiscard]] RemoteHead& remote_head(std::uint64_t sequence) const noexcept {
    return reinterpret_cast<RemoteHead*>(base_ + heads_at(members_))[sequence % 2];
  }
  [[nodiscard]] Slot& slot(std::size_t member, std::uint64_t sequence) const noexcept {
    return reinterpret_cast<Slot*>(base_ + slots_at(members_))[member * slots_per_member + sequence % slots_per_member];
  }
  [[nodiscard]] std::byte* remote(std::uint64_t sequence) const noexcept {
    return base_ + slots_at(members_) + members_ * slots_per_member * sizeof(Slot) + (sequence % 2) * remote_bytes_;
  }
  [[nodiscard]] std::size_t remote_bytes() const noexcept { return remote_bytes_; }

 private:
  static std::size_t transfers_at(std::size_t members) noexcept { return members * sizeof(MemberLine); }
  static std::size_t heads_at(std::size_t members) noexcept {
    return transfers_at(members) + members * members * sizeof(TransferSlot);
  }
  static std::size_t slots_at(std::size_t members) noexcept {
    const std::size_t end = heads_at(members) + 2 * sizeof(RemoteHead);
    return (end + alignof(Slot) - 1) / alignof(Slot) * alignof(Slot);
  }

  std::byte* base_;
  std::size_t members_;
  std::size_t remote_bytes_;
};

}  // namespace muster::detail
