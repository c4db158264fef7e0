#include "client/lazy_source.hpp"

#include "server/device_service.hpp"

namespace muster::detail {

void enqueue_snapshot(DeviceService& service, Handle handle, StreamId stream, const SnapshotState& state,
                      SnapshotMeans means, std::function<void(const Failure&)> ended) {
  auto& server = service.server();
  auto failed = [state, ended](const Failure& failure) {
    state->fail(failure);
    if (ended) ended(failure);
  };
  auto share = [state, ended](std::shared_ptr<Storage> storage) {
    state->set({std::move(storage), {}});
    if (ended) ended(nullptr);
  };
  if (means == SnapshotMeans::share_where_possible && server.enqueue_view(stream, handle, state, std::move(share), failed))
    return;
  const Rows rows = Rows::packed(handle.size());
  auto keep = [state, ended](Bytes bytes) {
    state->set({nullptr, std::move(bytes)});
    if (ended) ended(nullptr);
  };
  server.enqueue(stream, server.driver().make_read(std::move(handle), rows, std::move(keep), std::move(failed)));
}

}  // namespace muster::detail
