#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "memory/storage.hpp"
#include "muster/bytes.hpp"
#include "muster/future.hpp"
#include "muster/handle.hpp"

namespace muster::detail {

class DeviceService;

/// What a lazy read refers to once its place in the stream is reached: storage of the device, or a copy.
struct Snapshot {
  std::shared_ptr<Storage> storage;
  Bytes copy;
};
using SnapshotState = std::shared_ptr<ValueState<Snapshot>>;

class LazySource final : public BytesSource {
 public:
  /// `handle` counts as one of the program while the bytes refer to its memory.
  LazySource(Handle handle, SnapshotState state) : handle_(std::move(handle)), state_(std::move(state)) {}
  [[nodiscard]] BytesKind kind() const noexcept override { return BytesKind::device; }
  [[nodiscard]] bool ready() const noexcept override { return resolved_ || state_->ready(); }
  [[nodiscard]] const std::byte* data() override {
    if (!resolved_) {
      snapshot_ = state_->take(Deadline::never());
      resolved_ = true;
    }
    if (!snapshot_.storage) return std::as_const(snapshot_.copy).data();
    return snapshot_.storage->range().data() + handle_.offset();
  }

 private:
  Handle handle_;
  SnapshotState state_;  // as long as it lives, writers leave the storage to the snapshot
  Snapshot snapshot_;
  bool resolved_ = false;
};

/// How a snapshot may be taken.
enum class SnapshotMeans : std::uint8_t { share_where_possible, copy };

/// On the actor: enqueues what ends in `state`; `ended` is told of it, with null or the failure.
void enqueue_snapshot(DeviceService& service, Handle handle, StreamId stream, const SnapshotState& state,
                      SnapshotMeans means, std::function<void(const Failure&)> ended);

}  // namespace muster::detail
