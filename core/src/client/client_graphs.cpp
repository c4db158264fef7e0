// Recording and replaying graphs.

#include <fmt/format.h>

#include "muster/client.hpp"
#include "server/device_service.hpp"

namespace muster {

namespace detail {

/// What copies of a Graph share. Ended on the actor, behind the replays that were enqueued.
class RecordedGraph {
 public:
  RecordedGraph(std::shared_ptr<DeviceService> service, StreamId stream, std::shared_ptr<const GraphBody> body)
      : service_(std::move(service)), stream_(stream), body_(std::move(body)) {}
  RecordedGraph(const RecordedGraph&) = delete;
  RecordedGraph& operator=(const RecordedGraph&) = delete;
  ~RecordedGraph() {
    try {
      service_->actor()->submit(make_device_task([body = std::move(body_)](DeviceContext&) {}));
    } catch (...) {
      // The device is closed: nothing runs any more, and the graph ends here.
    }
  }

  void replay() const {
    if (service_->modes().of(stream_).capturing) {
      throw UsageError("a graph cannot be replayed while its stream records; stop the capture first");
    }
    service_->actor()->submit(make_device_task([service = service_.get(), stream = stream_, body = body_](DeviceContext&) {
      service->server().replay(stream, body);
    }));
    if (body_->waits_for_peers) service_->actor()->flush();
  }
  [[nodiscard]] std::size_t size() const noexcept { return body_->operations.size(); }

 private:
  std::shared_ptr<DeviceService> service_;
  StreamId stream_;
  std::shared_ptr<const GraphBody> body_;
};

}  // namespace detail

void Graph::replay() const { recorded_->replay(); }
std::size_t Graph::size() const noexcept { return recorded_->size(); }

bool Client::is_capturing() const { return service_->modes().of(stream()).capturing; }

void Client::refuse_while_capturing(std::string_view call) const {
  if (is_capturing()) {
    throw UsageError(fmt::format("{} is not possible while the stream records a graph; stop the capture first", call));
  }
}

void Client::graph_prepare() const {
  refuse_while_capturing("graph_prepare");
  service_->actor()->submit(make_device_task(
      [service = service_.get(), stream = stream()](DeviceContext&) { service->server().capture(stream).prepare(); }));
}

void Client::start_capture() const {
  const StreamId recording = stream();
  refuse_while_capturing("start_capture");
  sync();  // so that what the warm-up run used is free again
  service_->actor()->submit_blocking([&] {
    refuse_while_capturing("start_capture");
    service_->server().start_capture(recording);
    service_->modes().set_capturing(recording, true);
  });
}

Graph Client::stop_capture() const {
  const StreamId recording = stream();
  std::shared_ptr<const detail::GraphBody> body;
  service_->actor()->submit_blocking([&] {
    if (!service_->modes().of(recording).capturing)
      throw UsageError("the stream records no graph; call start_capture first");
    service_->modes().set_capturing(recording, false);
    body = service_->server().stop_capture(recording);
  });
  return Graph(std::make_shared<const detail::RecordedGraph>(service_, recording, std::move(body)));
}

}  // namespace muster
