#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace muster::detail {

/// The free ranges of one page: best fit, neighbours joined on release. Sizes are multiples of `alignment`.
class PageSpace {
 public:
  static constexpr std::size_t alignment = 128;  // two cache lines, since cores prefetch in pairs

  explicit PageSpace(std::size_t size_bytes) : size_(size_bytes) { insert(0, size_bytes); }

  static std::size_t rounded(std::size_t size_bytes) noexcept {
    return size_bytes == 0 ? alignment : (size_bytes + alignment - 1) / alignment * alignment;
  }

  /// The offset of a range of `rounded` bytes, or nothing.
  std::optional<std::size_t> take(std::size_t rounded_bytes) {
    const auto best = by_size_.lower_bound({rounded_bytes, 0});
    if (best == by_size_.end()) return std::nullopt;
    const auto [size, offset] = *best;
    erase(offset, size);
    if (size > rounded_bytes) insert(offset + rounded_bytes, size - rounded_bytes);
    return offset;
  }

  /// Gives back what take() returned.
  void give_back(std::size_t offset, std::size_t rounded_bytes) {
    const auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.end() && after->first == offset + rounded_bytes) {
      const auto [next_offset, next_size] = *after;
      erase(next_offset, next_size);
      rounded_bytes += next_size;
    }
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [before_offset, before_size] = *std::prev(next);
      if (before_offset + before_size == offset) {
        erase(before_offset, before_size);
        offset = before_offset;
        rounded_bytes += before_size;
      }
    }
    insert(offset, rounded_bytes);
  }

  [[nodiscard]] bool all_free() const noexcept { return by_offset_.size() == 1 && by_offset_.begin()->second == size_; }
  [[nodiscard]] std::size_t largest() const noexcept { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

 private:
  void insert(std::size_t offset, std::size_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  void erase(std::size_t offset, std::size_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }

  std::size_t size_;
  std::map<std::size_t, std::size_t> by_offset_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;
};

}  // namespace muster::detail
