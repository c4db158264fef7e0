// Reads of Client: blocking, asynchronous and lazy.

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "muster/client.hpp"
#include "server/device_service.hpp"

namespace muster {

using detail::ValueState;

namespace {

using ReadState = std::shared_ptr<ValueState<Bytes>>;

/// Enqueues a read that ends in the future's state.
void enqueue_read(detail::DeviceService& service, Handle handle, const Rows& rows, StreamId stream,
                  const ReadState& state) {
  auto& server = service.server();
  server.enqueue(stream, server.driver().make_read(
                             std::move(handle), rows, [state](Bytes bytes) { state->set(std::move(bytes)); },
                             [state](const Failure& failure) { state->fail(failure); }));
}

/// What a lazy read refers to once its place in the stream is reached: storage of the device, or a copy.
struct Snapshot {
  std::shared_ptr<detail::Storage> storage;
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

void enqueue_snapshot(detail::DeviceService& service, Handle handle, StreamId stream, const SnapshotState& state,
                      std::function<void(const Failure&)> ended) {
  auto& server = service.server();
  auto failed = [state, ended](const Failure& failure) {
    state->fail(failure);
    if (ended) ended(failure);
  };
  auto share = [state, ended](std::shared_ptr<detail::Storage> storage) {
    state->set({std::move(storage), {}});
    if (ended) ended(nullptr);
  };
  if (server.enqueue_view(stream, handle, state, std::move(share), failed)) return;
  const Rows rows = Rows::packed(handle.size());
  auto keep = [state, ended](Bytes bytes) {
    state->set({nullptr, std::move(bytes)});
    if (ended) ended(nullptr);
  };
  server.enqueue(stream, server.driver().make_read(std::move(handle), rows, std::move(keep), std::move(failed)));
}

}  // namespace

Bytes Client::read(const Handle& handle, Deadline deadline) const {
  require_own(handle);
  refuse_while_capturing("read");
  auto state = std::make_shared<ValueState<Bytes>>(service_->actor());
  service_->actor()->submit_blocking(
      [&] { enqueue_read(*service_, handle.for_work(), Rows::packed(handle.size()), stream(), state); });
  return state->take(deadline);
}

std::vector<Bytes> Client::read(std::span<const Handle> handles, Deadline deadline) const {
  for (const Handle& handle : handles) require_own(handle);
  refuse_while_capturing("read");
  std::vector<ReadState> states;
  for (std::size_t i = 0; i < handles.size(); ++i) states.push_back(std::make_shared<ValueState<Bytes>>(service_->actor()));
  service_->actor()->submit_blocking([&] {
    for (std::size_t i = 0; i < handles.size(); ++i) {
      enqueue_read(*service_, handles[i].for_work(), Rows::packed(handles[i].size()), stream(), states[i]);
    }
  });
  std::vector<Bytes> read;
  std::vector<Failure> failures;
  for (const ReadState& state : states) {
    try {
      read.push_back(state->take(deadline));
    } catch (const TimedOut&) {
      throw;
    } catch (const Error&) {
      const Failure& failure = state->failure();
      if (std::find(failures.begin(), failures.end(), failure) == failures.end()) failures.push_back(failure);
    }
  }
  detail::raise_each_once(std::move(failures));
  return read;
}

Future<Bytes> Client::read_async(const Handle& handle) const {
  return read_tensor_async({handle, {handle.size()}, {1}, 1});
}

namespace {
Rows checked_rows(const TensorDescriptor& tensor) {
  const Rows rows = rows_of(tensor.shape, tensor.strides, tensor.element_size);
  if (rows.extent() > tensor.handle.size()) {
    throw UsageError(fmt::format("a tensor that extends over {} bytes cannot be read from a handle of {} bytes",
                                 rows.extent(), tensor.handle.size()));
  }
  return rows;
}
}  // namespace

Future<Bytes> Client::read_tensor_async(const TensorDescriptor& tensor) const {
  require_own(tensor.handle);
  refuse_while_capturing("read");
  const Rows rows = checked_rows(tensor);
  auto state = std::make_shared<ValueState<Bytes>>(service_->actor());
  service_->actor()->submit(
      make_device_task([service = service_.get(), handle = tensor.handle.for_work(), rows, state,
                        stream = stream()](DeviceContext&) { enqueue_read(*service, handle, rows, stream, state); }));
  service_->actor()->flush();
  return Future<Bytes>(std::move(state));
}

Bytes Client::read_tensor(const TensorDescriptor& tensor, Deadline deadline) const {
  return read_tensor_async(tensor).get(deadline);
}

Bytes Client::read_lazy(const Handle& handle) const {
  require_own(handle);
  refuse_while_capturing("read_lazy");
  auto state = std::make_shared<ValueState<Snapshot>>(service_->actor());
  service_->actor()->submit(
      make_device_task([service = service_.get(), handle = handle.for_work(), state, stream = stream()](DeviceContext&) {
        enqueue_snapshot(*service, handle, stream, state, {});
      }));
  return {std::make_unique<LazySource>(handle, std::move(state)), handle.size()};
}

Future<Bytes> Client::read_lazy_async(const Handle& handle) const {
  require_own(handle);
  refuse_while_capturing("read_lazy_async");
  auto snapshot = std::make_shared<ValueState<Snapshot>>(service_->actor());
  auto state = std::make_shared<ValueState<Bytes>>(service_->actor());
  // The bytes hold the handle from now on, as those of read_lazy do.
  auto bytes = std::make_shared<Bytes>(std::make_unique<LazySource>(handle, snapshot), handle.size());
  service_->actor()->submit(make_device_task(
      [service = service_.get(), handle = handle.for_work(), snapshot, state, bytes, stream = stream()](DeviceContext&) {
        enqueue_snapshot(*service, handle, stream, snapshot, [state, bytes](const Failure& failure) {
          failure ? state->fail(failure) : state->set(std::move(*bytes));
        });
      }));
  service_->actor()->flush();
  return Future<Bytes>(std::move(state));
}

}  // namespace muster
