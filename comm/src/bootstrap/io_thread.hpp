#pragma once

#include <pthread.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

#include "muster/device_work.hpp"

namespace muster::detail {

/// The one thread of the process that serves sockets, event descriptors and timers.
class IoThread {
 public:
  IoThread()
      : guard_((prepare_process(), context_.get_executor())), thread_([this] {
          pthread_setname_np(pthread_self(), "muster-io");
          context_.run();
        }) {}
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;
  ~IoThread() { stop(); }

  boost::asio::io_context& context() noexcept { return context_; }
  /// No handler runs after this. Idempotent.
  void stop() {
    if (in_forked_child()) {
      if (thread_.joinable()) thread_.detach();  // it exists in the parent only
      return;
    }
    guard_.reset();
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::thread thread_;
};

}  // namespace muster::detail
