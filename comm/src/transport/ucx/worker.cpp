#include "transport/ucx/worker.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "muster/collective_error.hpp"
#include "muster/error.hpp"

namespace muster::detail::ucx {

void check(ucs_status_t status, const char* call) {
  if (status == UCS_OK) return;
  throw Error(ErrorCode::internal, fmt::format("{} failed: {}", call, ucs_status_string(status)));
}

void give_back_signal_handlers() {
  if (std::getenv("UCX_HANDLE_ERRORS")) return;  // the user asked for them
  for (const int signal : {SIGILL, SIGBUS, SIGFPE, SIGSEGV}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0) continue;
    Dl_info owner{};
    const void* handler = reinterpret_cast<const void*>(action.sa_sigaction);
    if (handler == nullptr || dladdr(handler, &owner) == 0 || !owner.dli_fname) continue;
    if (std::string_view(owner.dli_fname).find("libucs") == std::string_view::npos) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
}

namespace {

/// The context as a library wants it: no signal handlers, and no shared memory, since ranks that can share memory do so
/// without UCX.
ucp_context_h make_context() {
  ucp_config_t* config = nullptr;
  check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
  const std::unique_ptr<ucp_config_t, decltype(&ucp_config_release)> owned(config, &ucp_config_release);
  if (!std::getenv("UCX_TLS")) check(ucp_config_modify(config, "TLS", "^shm"), "ucp_config_modify(TLS)");
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED | UCP_PARAM_FIELD_NAME;
  parameters.features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP;
  parameters.mt_workers_shared = 1;
  parameters.name = "muster";
  ucp_context_h context = nullptr;
  check(ucp_init(&parameters, config, &context), "ucp_init");
  return context;
}

int event_descriptor(ucp_worker_h worker) {
  int descriptor = -1;
  check(ucp_worker_get_efd(worker, &descriptor), "ucp_worker_get_efd");
  return descriptor;
}

ucp_worker_h make_worker(ucp_context_h context) {
  ucp_worker_params_t parameters{};
  parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucp_worker_h worker = nullptr;
  check(ucp_worker_create(context, &parameters, &worker), "ucp_worker_create");
  return worker;
}

}  // namespace

Worker::Worker(boost::asio::io_context& io, std::function<void()> on_progress)
    : on_progress_(std::move(on_progress)),
      context_(make_context()),
      worker_(make_worker(context_)),
      io_(io),
      event_(io, event_descriptor(worker_)) {}

Worker::~Worker() {
  close();
  event_.release();  // the descriptor is the worker's
  ucp_worker_destroy(worker_);
  ucp_cleanup(context_);
}

void Worker::close() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(closed_, true)) return;
  on_peer_failure_ = nullptr;
  boost::system::error_code ignored;
  event_.cancel(ignored);
  for (const auto& [rank, endpoint] : endpoints_) {
    ucp_request_param_t parameters{};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
    void* request = ucp_ep_close_nbx(endpoint, &parameters);
    if (!UCS_PTR_IS_PTR(request)) continue;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    while (ucp_request_check_status(request) == UCS_INPROGRESS && std::chrono::steady_clock::now() < limit) {
      ucp_worker_progress(worker_);
    }
    ucp_request_free(request);
  }
  endpoints_.clear();
}

std::string Worker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t size = 0;
  check(ucp_worker_get_address(worker_, &address, &size), "ucp_worker_get_address");
  std::string bytes(reinterpret_cast<const char*>(address), size);
  ucp_worker_release_address(worker_, address);
  return bytes;
}

ucp_ep_h Worker::endpoint(RankId to) {
  const auto known = endpoints_.find(to.value);
  if (known != endpoints_.end()) return known->second;
  auto data = std::make_unique<EndpointData>(EndpointData{this, to});
  ucp_ep_params_t parameters{};
  parameters.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  parameters.address = reinterpret_cast<const ucp_address_t*>(addresses_.at(to.value).data());
  parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  parameters.err_handler.arg = data.get();
  parameters.err_handler.cb = [](void* argument, ucp_ep_h, ucs_status_t status) {
    const auto& endpoint = *static_cast<EndpointData*>(argument);
    if (endpoint.worker->on_peer_failure_) {
      endpoint.worker->on_peer_failure_(endpoint.peer, fmt::format("UCX: {}", ucs_status_string(status)));
    }
  };
  ucp_ep_h made = nullptr;
  check(ucp_ep_create(worker_, &parameters, &made), "ucp_ep_create");
  endpoints_.emplace(to.value, made);
  endpoint_data_.emplace(to.value, std::move(data));
  return made;
}

Request Worker::send(RankId to, ucp_tag_t tag, const void* data, std::size_t size) {
  auto state = std::make_shared<Request::State>();
  state->worker = shared_from_this();
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  parameters.user_data = state.get();
  parameters.cb.send = [](void*, ucs_status_t status, void* user) {
    auto& done = *static_cast<Request::State*>(user);
    done.status = status;
    done.finished.store(true, std::memory_order_release);
  };
  const std::lock_guard lock(mutex_);
  state->peer = to.value;
  void* request = ucp_tag_send_nbx(endpoint(to), data, size, tag, &parameters);
  if (UCS_PTR_IS_ERR(request)) {
    state->status = UCS_PTR_STATUS(request);  // told by done(), as any other failure
    state->finished.store(true, std::memory_order_release);
  } else if (request == nullptr) {
    state->finished.store(true, std::memory_order_release);
  } else {
    state->native = request;
  }
  return Request(std::move(state));
}

Request Worker::receive(ucp_tag_t tag, void* data, std::size_t size) {
  auto state = std::make_shared<Request::State>();
  state->worker = shared_from_this();
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  parameters.user_data = state.get();
  parameters.cb.recv = [](void*, ucs_status_t status, const ucp_tag_recv_info_t* info, void* user) {
    auto& done = *static_cast<Request::State*>(user);
    done.status = status;
    done.size = info->length;
    done.finished.store(true, std::memory_order_release);
  };
  const std::lock_guard lock(mutex_);
  void* request = ucp_tag_recv_nbx(worker_, data, size, tag, ~ucp_tag_t{0}, &parameters);
  if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "ucp_tag_recv_nbx");
  state->native = request;
  return Request(std::move(state));
}

bool Worker::progress() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock && !closed_ && ucp_worker_progress(worker_) != 0;
}

bool Worker::arm() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return true;
    const ucs_status_t status = ucp_worker_arm(worker_);
    if (status == UCS_ERR_BUSY) {
      ucp_worker_progress(worker_);
      return false;
    }
    check(status, "ucp_worker_arm");
  }
  if (!watching_.exchange(true)) {
    boost::asio::post(io_, [self = shared_from_this()] { self->watch(); });
  }
  return true;
}

void Worker::watch() {
  event_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                    [weak = weak_from_this()](const boost::system::error_code& error) {
                      const auto self = weak.lock();
                      if (!self || error) return;
                      self->watching_.store(false);
                      {
                        const std::lock_guard lock(self->mutex_);
                        if (self->closed_) return;
                        while (ucp_worker_progress(self->worker_) != 0) {
                        }
                      }
                      self->on_progress_();
                    });
}

std::string Worker::transports(RankId to) {
  const std::lock_guard lock(mutex_);
  if (addresses_.count(to.value) == 0) return "no UCX address";
  ucp_ep_h made = endpoint(to);
  char* text = nullptr;
  std::size_t size = 0;
  FILE* stream = open_memstream(&text, &size);
  if (!stream) return "unknown";
  ucp_ep_print_info(made, stream);
  std::fclose(stream);
  std::string all(text, size);
  std::free(text);
  std::string found;
  // Lines such as `#  lane[0]:  2:tcp/eth0.0 md[2] …`.
  for (std::size_t at = all.find("lane["); at != std::string::npos; at = all.find("lane[", at + 1)) {
    const std::size_t colon = all.find(':', all.find(':', at) + 1);
    const std::size_t end = all.find(' ', colon);
    if (colon == std::string::npos || end == std::string::npos) break;
    const std::string lane = all.substr(colon + 1, end - colon - 1);
    if (found.find(lane) == std::string::npos) found += (found.empty() ? "" : ", ") + lane;
  }
  return found.empty() ? "unknown" : found;
}

Request& Request::operator=(Request&& other) noexcept {
  Request taken(std::move(other));
  std::swap(state_, taken.state_);
  return *this;
}

namespace {
bool path_is_gone(ucs_status_t status) {
  return status == UCS_ERR_ENDPOINT_TIMEOUT || status == UCS_ERR_CONNECTION_RESET || status == UCS_ERR_UNREACHABLE ||
         status == UCS_ERR_NOT_CONNECTED || status == UCS_ERR_REJECTED || status == UCS_ERR_IO_ERROR ||
         status == UCS_ERR_CANCELED;
}
}  // namespace

bool Request::done() {
  if (!state_->finished.load(std::memory_order_acquire)) {
    state_->worker->progress();
    if (!state_->finished.load(std::memory_order_acquire)) return false;
  }
  if (state_->status != UCS_OK && state_->peer >= 0 && path_is_gone(state_->status)) {
    throw PeerLost(RankId{state_->peer}, fmt::format("rank {} is lost: the UCX path to it failed: {}", state_->peer,
                                                     ucs_status_string(state_->status)));
  }
  check(state_->status, "a UCX transfer");
  return true;
}

std::size_t Request::size() const noexcept { return state_->size; }

Request::~Request() {
  if (!state_ || !state_->native) return;
  auto& worker = *state_->worker;
  const std::lock_guard lock(worker.mutex_);
  if (!state_->finished.load(std::memory_order_acquire)) {
    // The buffer may go as soon as this returns. A send in the middle of a dead path ends with its endpoint.
    ucp_request_cancel(worker.worker_, state_->native);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (!state_->finished.load(std::memory_order_acquire) && std::chrono::steady_clock::now() < limit) {
      ucp_worker_progress(worker.worker_);
    }
    if (!state_->finished.load(std::memory_order_acquire)) {
      spdlog::error("muster: a UCX transfer could not be cancelled");
      new std::shared_ptr<State>(state_);  // its callback may still come
      return;
    }
  }
  ucp_request_free(state_->native);
}

}  // namespace muster::detail::ucx
