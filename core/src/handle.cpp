#include "muster/handle.hpp"

#include <fmt/format.h>

#include <utility>

#include "memory/allocation.hpp"
#include "muster/device_work.hpp"
#include "muster/error.hpp"

namespace muster {

std::string to_string(const ServiceId& service) { return to_string(service.device); }

Handle::Handle(std::shared_ptr<detail::Allocation> allocation, std::size_t offset_bytes, std::size_t size_bytes)
    : allocation_(std::move(allocation)), offset_(offset_bytes), size_(size_bytes), held_(allocation_ != nullptr) {
  if (held_) allocation_->held().fetch_add(1, std::memory_order_relaxed);
}

Handle::Handle(const Handle& other) noexcept
    : allocation_(other.allocation_), offset_(other.offset_), size_(other.size_), held_(other.held_) {
  if (held_) allocation_->held().fetch_add(1, std::memory_order_relaxed);
}

Handle::Handle(Handle&& other) noexcept
    : allocation_(std::move(other.allocation_)),
      offset_(other.offset_),
      size_(other.size_),
      held_(std::exchange(other.held_, false)) {}

Handle& Handle::operator=(Handle other) noexcept {
  std::swap(allocation_, other.allocation_);
  std::swap(offset_, other.offset_);
  std::swap(size_, other.size_);
  std::swap(held_, other.held_);
  return *this;
}

Handle::~Handle() {
  // Released before the reference, and seen by can_mut(): who finds itself alone also sees what the others did.
  if (held_ && allocation_) allocation_->held().fetch_sub(1, std::memory_order_release);
}

bool Handle::can_mut() const noexcept { return held_ && allocation_->held().load(std::memory_order_acquire) == 1; }

Handle Handle::for_work() const {
  Handle work;
  work.allocation_ = allocation_;
  work.offset_ = offset_;
  work.size_ = size_;
  return work;
}

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
  Handle part = *this;
  part.offset_ += offset_bytes;
  part.size_ = size_bytes;
  return part;
}

bool Handle::overlaps(const Handle& other) const noexcept {
  return allocation_ && allocation_ == other.allocation_ && size_ != 0 && other.size_ != 0 &&
         offset_ < other.offset_ + other.size_ && other.offset_ < offset_ + size_;
}

bool Handle::same_memory(const Handle& other) const noexcept {
  return allocation_ && allocation_ == other.allocation_ && offset_ == other.offset_ && size_ == other.size_;
}

MemoryView memory_of(const Handle& handle) {
  const auto& storage = handle.allocation()->storage();
  if (!storage) return {};
  const auto& range = storage->range();
  return {range.data() + handle.offset(), range.page->id(), range.offset + handle.offset()};
}

Failure failure_of(const Handle& handle) {
  return handle.allocation()->failures().first_within(handle.offset(), handle.offset() + handle.size());
}

}  // namespace muster
