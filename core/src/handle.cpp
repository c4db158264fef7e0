#include "muster/handle.hpp"

#include <fmt/format.h>

#include "memory/allocation.hpp"
#include "muster/device_work.hpp"
#include "muster/error.hpp"

namespace muster {

std::string to_string(const ServiceId& service) { return to_string(service.device); }

Handle::Handle(std::shared_ptr<detail::Allocation> allocation, std::size_t offset_bytes, std::size_t size_bytes)
    : allocation_(std::move(allocation)), offset_(offset_bytes), size_(size_bytes) {}

ServiceId Handle::service_id() const {
  if (!allocation_) throw UsageError("the handle is empty; make one with Client::create or Client::empty");
  return allocation_->service();
}

Handle Handle::slice(std::size_t offset_bytes, std::size_t size_bytes) const {
  if (!allocation_) throw UsageError("an empty handle has no slices");
  if (offset_bytes > size_ || size_bytes > size_ - offset_bytes) {
    throw UsageError(
        fmt::format("bytes {} to {} are not inside a handle of {} bytes", offset_bytes, offset_bytes + size_bytes, size_));
  }
  return {allocation_, offset_ + offset_bytes, size_bytes};
}

bool Handle::overlaps(const Handle& other) const noexcept {
  return allocation_ && allocation_ == other.allocation_ && size_ != 0 && other.size_ != 0 &&
         offset_ < other.offset_ + other.size_ && other.offset_ < offset_ + size_;
}

bool Handle::same_memory(const Handle& other) const noexcept {
  return allocation_ && allocation_ == other.allocation_ && offset_ == other.offset_ && size_ == other.size_;
}

MemoryView memory_of(const Handle& handle) {
  const auto& range = handle.allocation()->range();
  if (!range.page) return {};
  return {range.data() + handle.offset(), range.page->id(), range.offset + handle.offset()};
}

Failure failure_of(const Handle& handle) {
  return handle.allocation()->failures().first_within(handle.offset(), handle.offset() + handle.size());
}

}  // namespace muster
