#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "muster/device.hpp"
#include "muster/device_work.hpp"

namespace muster::detail::ucx {

/// Turns a status into our error, with the call's name in it.
void check(ucs_status_t status, const char* call);

/// UCX installs handlers for crashes when it is loaded. They belong to the program, so they are given back, unless the
/// user asked UCX for them.
void give_back_signal_handlers();

class Worker;

/// One send or receive in flight. Its buffer must outlive it; dropping it early cancels it first.
class Request {
 public:
  Request() = default;
  Request(Request&&) noexcept = default;
  Request& operator=(Request&& other) noexcept;
  ~Request();

  /// Drives the worker; true when finished. Throws where it failed: PeerLost if the path to the receiver is gone.
  bool done();
  /// Bytes received. After done().
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

 private:
  friend class Worker;
  struct State {
    std::shared_ptr<Worker> worker;
    void* native = nullptr;
    std::atomic<bool> finished{false};
    ucs_status_t status = UCS_OK;
    std::size_t size = 0;
    int peer = -1;  // rank that a send goes to
  };
  explicit Request(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// A UCX context and worker with an endpoint to each rank that is sent to. Any thread; one at a time is inside UCX.
class Worker : public ExternalProgress, public std::enable_shared_from_this<Worker> {
 public:
  /// `on_progress` is called on the I/O thread when it moved something while threads slept.
  Worker(boost::asio::io_context& context, std::function<void()> on_progress);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() override;

  /// What the others need to reach this worker.
  [[nodiscard]] std::string address() const;
  void set_addresses(std::map<int, std::string> addresses) { addresses_ = std::move(addresses); }
  /// Called, on a thread inside UCX, when the path to a rank failed.
  void on_peer_failure(std::function<void(RankId, const std::string&)> callback) { on_peer_failure_ = std::move(callback); }

  Request send(RankId to, ucp_tag_t tag, const void* data, std::size_t size);
  Request receive(ucp_tag_t tag, void* data, std::size_t size);
  /// Moves what can be moved, unless another thread is at it. Whether anything did.
  bool progress();
  bool arm() override;
  /// The transports in use to a rank, as UCX names them.
  std::string transports(RankId to);
  /// No callback comes after this. Idempotent.
  void close();

 private:
  friend class Request;
  struct EndpointData {
    Worker* worker;
    RankId peer;
  };
  ucp_ep_h endpoint(RankId to);
  void watch();

  std::function<void()> on_progress_;
  std::function<void(RankId, const std::string&)> on_peer_failure_;
  std::mutex mutex_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::map<int, std::string> addresses_;
  std::map<int, ucp_ep_h> endpoints_;
  std::map<int, std::unique_ptr<EndpointData>> endpoint_data_;
  boost::asio::io_context& io_;
  boost::asio::posix::stream_descriptor event_;
  std::atomic<bool> watching_{false};
  bool closed_ = false;
};

}  // namespace muster::detail::ucx
