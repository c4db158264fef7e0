#pragma once

#include <cstdint>

namespace muster::detail::ucx {

/// What a message is for. Messages with the same tag between two members are matched in the order sent.
enum class Channel : std::uint8_t {
  meeting = 0,        ///< records of all members, all-gathered among hosts
  forward = 1,        ///< partial reductions; one channel per run of the chain follows in `step`
  backward = 2,       ///< results on their way back
  block = 3,          ///< whole blocks, from member to member
  transfer = 4,       ///< data of a send
  transfer_head = 5,  ///< its size
  transfer_reply = 6,
};

/// 63           44 43        32 31        20 19      16 15           0
/// | group: 20    | to: 12     | from: 12   | chan: 4  | step: 16     |
///
/// `group` is the receiving process's own number for the group, so no two groups of a process share tags. `to` and
/// `from` are member indices; `step` tells concurrent parts of one operation apart.
constexpr std::uint64_t tag(std::uint32_t group, int to, int from, Channel channel, std::uint32_t step) noexcept {
  return (static_cast<std::uint64_t>(group & 0xfffffU) << 44U) | (static_cast<std::uint64_t>(to & 0xfff) << 32U) |
         (static_cast<std::uint64_t>(from & 0xfff) << 20U) | (static_cast<std::uint64_t>(channel) << 16U) |
         (step & 0xffffU);
}
constexpr int most_members = 4096;  // that `to` and `from` can name

}  // namespace muster::detail::ucx
