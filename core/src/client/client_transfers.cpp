// Copies of Client between devices of this process.

#include <mutex>

#include "client/lazy_source.hpp"
#include "muster/client.hpp"
#include "server/device_service.hpp"

namespace muster {

namespace {

/// The two halves of a transfer wait for each other, so every device gets the halves of all transfers in one order.
std::mutex& transfer_order() {
  static auto* const mutex = new std::mutex;  // threads may transfer while the process exits
  return *mutex;
}

}  // namespace

Handle Client::to_client(const Handle& source, const Client& destination) const {
  require_own(source);
  refuse_while_capturing("to_client");
  if (service_ == destination.service_) {
    const Handle copied = destination.empty(source.size());
    destination.copy(source, copied);
    return copied;
  }
  destination.refuse_while_capturing("to_client");
  using detail::SnapshotMeans;
  // Between peers the destination copies from the source's memory; else the bytes pass through memory of the host.
  const SnapshotMeans means =
      destination.can_access_peer(*this) ? SnapshotMeans::share_where_possible : SnapshotMeans::copy;
  auto state = std::make_shared<detail::ValueState<detail::Snapshot>>(service_->actor());
  Bytes bytes(std::make_unique<detail::LazySource>(source.for_work(), state), source.size());
  Client receiver = destination;
  receiver.set_stream(destination.service_->incoming());
  const std::lock_guard lock(transfer_order());
  service_->actor()->submit(make_device_task([service = service_.get(), receiving = destination.service_,
                                              source = source.for_work(), state, means](DeviceContext&) {
    enqueue_snapshot(*service, source, service->outgoing(), state, means,
                     [receiving](const Failure&) { receiving->bell().ring(); });
  }));
  service_->actor()->flush();
  Handle copied = receiver.create(std::move(bytes));
  receiver.flush();
  return copied;
}

}  // namespace muster
