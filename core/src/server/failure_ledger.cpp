#include "server/failure_ledger.hpp"

#include <algorithm>

namespace muster::detail {

namespace {
// An empty buffer carries failures too: it stands for one byte at its position.
std::size_t at_least_one(std::size_t begin, std::size_t end) { return end > begin ? end : begin + 1; }
}  // namespace

void FailureLedger::cut(std::size_t begin, std::size_t end) {
  std::vector<Range> kept;
  kept.reserve(ranges_.size() + 1);
  for (Range& range : ranges_) {
    if (range.end <= begin || range.begin >= end) {
      kept.push_back(std::move(range));
      continue;
    }
    if (range.begin < begin) kept.push_back({range.begin, begin, range.failure});
    if (range.end > end) kept.push_back({end, range.end, range.failure});
  }
  ranges_ = std::move(kept);
}

void FailureLedger::taint(std::size_t begin, std::size_t end, Failure failure) {
  end = at_least_one(begin, end);
  const std::lock_guard lock(mutex_);
  cut(begin, end);
  const auto place = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& range) { return range.begin >= end; });
  ranges_.insert(place, {begin, end, std::move(failure)});
  any_.store(true, std::memory_order_release);
}

void FailureLedger::clear(std::size_t begin, std::size_t end) {
  if (empty()) return;
  const std::lock_guard lock(mutex_);
  cut(begin, at_least_one(begin, end));
  any_.store(!ranges_.empty(), std::memory_order_release);
}

std::vector<Failure> FailureLedger::within(std::size_t begin, std::size_t end) const {
  std::vector<Failure> found;
  if (empty()) return found;
  end = at_least_one(begin, end);
  const std::lock_guard lock(mutex_);
  for (const Range& range : ranges_) {
    if (range.end <= begin || range.begin >= end) continue;
    if (std::find(found.begin(), found.end(), range.failure) == found.end()) found.push_back(range.failure);
  }
  return found;
}

Failure FailureLedger::first_within(std::size_t begin, std::size_t end) const {
  if (empty()) return nullptr;
  auto found = within(begin, end);
  return found.empty() ? nullptr : std::move(found.front());
}

void raise_each_once(std::vector<Failure> failures) {
  if (failures.size() == 1) failures.front()->raise();
  if (!failures.empty()) throw Several(std::move(failures));
}

}  // namespace muster::detail
