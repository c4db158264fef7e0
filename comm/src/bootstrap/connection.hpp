#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "bootstrap/unique_fd.hpp"

namespace muster::detail {

/// One frame on a connection: a type, a payload, and at most one file descriptor.
struct Frame {
  std::uint16_t type = 0;
  std::string payload;
  UniqueFd descriptor;
};

/// A framed stream socket, Unix (with descriptors) or TCP. Used on the I/O thread only.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using OnFrame = std::function<void(const std::shared_ptr<Connection>&, Frame)>;
  using OnClosed = std::function<void(const std::shared_ptr<Connection>&, std::string reason)>;

  Connection(Socket socket, OnFrame on_frame, OnClosed on_closed);

  void start() { read_more(); }
  void send(Frame frame);
  /// Ends it without calling on_closed.
  void close();
  /// Whether frames wait to be written.
  [[nodiscard]] bool writing() const noexcept { return !outgoing_.empty(); }

  int peer = -1;  ///< rank at the other end, once it has said so

 private:
  struct Header {
    std::uint32_t size;
    std::uint16_t type;
    std::uint16_t has_descriptor;
  };
  static constexpr std::size_t largest_payload = std::size_t{16} << 20U;

  void read_more();
  void on_readable();
  bool take_frames();
  void write_more();
  void fail(const std::string& reason);

  Socket socket_;
  OnFrame on_frame_;
  OnClosed on_closed_;
  std::string incoming_;
  std::deque<UniqueFd> incoming_descriptors_;
  struct Outgoing {
    std::string bytes;
    UniqueFd descriptor;
    std::size_t sent = 0;
  };
  std::deque<Outgoing> outgoing_;
  bool write_waits_ = false;
  bool closed_ = false;
};

}  // namespace muster::detail
