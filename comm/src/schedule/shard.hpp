#pragma once

#include <cstddef>

namespace muster::detail {

/// A range of elements.
struct Shard {
  std::size_t begin = 0, count = 0;
};

/// The part of `count` elements that part `index` of `parts` works on: contiguous, in order, covering all, with begins
/// at multiples of `grain` elements so that two parts do not share a cache line.
constexpr Shard shard_of(std::size_t count, std::size_t parts, std::size_t index, std::size_t grain) noexcept {
  const std::size_t grains = (count + grain - 1) / grain;
  const std::size_t first = grains * index / parts * grain;
  const std::size_t last = grains * (index + 1) / parts * grain;
  const std::size_t begin = first < count ? first : count;
  const std::size_t end = last < count ? last : count;
  return {begin, end - begin};
}

}  // namespace muster::detail
