// Reads of Client: blocking, asynchronous and lazy.

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "client/lazy_source.hpp"
#include "muster/client.hpp"
#include "server/device_service.hpp"

namespace muster {

using detail::enqueue_snapshot;
using detail::LazySource;
using detail::Snapshot;
using detail::SnapshotState;
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
        enqueue_snapshot(*service, handle, stream, state, detail::SnapshotMeans::share_where_possible, {});
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
        enqueue_snapshot(
            *service, handle, stream, snapshot, detail::SnapshotMeans::share_where_possible,
            [state, bytes](const Failure& failure) { failure ? state->fail(failure) : state->set(std::move(*bytes)); });
      }));
  service_->actor()->flush();
  return Future<Bytes>(std::move(state));
}

}  // namespace muster
