#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bootstrap/connection.hpp"
#include "muster/device.hpp"

namespace muster::detail {

/// What control messages are about. On the wire: append only.
enum class MessageType : std::uint16_t {
  hello = 1,         ///< first frame of a connection: secret and rank
  goodbye = 2,       ///< the rank ends in order; its silence is no loss
  probe = 3,         ///< a page to map, and the nonce that must be in it
  probe_answer = 4,  ///< what was read
  join = 5,          ///< a rank is ready to form a group
  formed = 6,        ///< all ranks of a group are
  group_page = 7,    ///< the control page of a group on this host
  page = 8,          ///< a page of device memory
  page_released = 9,
  broken = 10,  ///< a group is broken, and why
};

/// Control messages between the ranks: over Unix sockets where both see the same abstract name, else TCP. Connections to
/// other hosts are made when first used. Messages between two ranks keep their order.
///
/// send() may be called from any thread; handlers run on the I/O thread.
class PeerLinks {
 public:
  /// Where a rank listens, as given to the others.
  struct Address {
    std::string unix_name;                ///< abstract
    std::vector<std::string> interfaces;  ///< IP addresses, the most promising first
    std::uint16_t port = 0;
  };
  using Handler = std::function<void(RankId from, const std::string& payload, UniqueFd descriptor)>;
  using OnLost = std::function<void(RankId rank, const std::string& how)>;

  PeerLinks(boost::asio::io_context& context, RankId rank);
  PeerLinks(const PeerLinks&) = delete;
  PeerLinks& operator=(const PeerLinks&) = delete;

  [[nodiscard]] Address address() const;
  /// Before open(): what to do with messages of a type, and with a lost rank.
  void on(MessageType type, Handler handler) { handlers_[type] = std::move(handler); }
  void on_lost(OnLost callback) { on_lost_ = std::move(callback); }
  /// The job's ranks and its secret are known: accept.
  void open(std::vector<Address> addresses, std::string secret);
  /// Connects to a rank over its Unix socket; `done` gets an empty string, or why not, on the I/O thread.
  void connect_unix_soon(RankId to, std::function<void(std::string)> done);

  /// `descriptor`, if any, is duplicated before the call returns. Dropped where the rank is lost.
  void send(RankId to, MessageType type, std::string payload, int descriptor = -1);
  /// Something else than a control link has failed towards a rank: treated as its loss, unless it has said goodbye. Any
  /// thread.
  void lose_soon(RankId rank, std::string how);
  /// Tells all connected ranks that this one ends in order.
  void say_goodbye();
  /// Closes everything. On the I/O thread, or when it has stopped.
  void close();

 private:
  void connect_unix(RankId to, const std::function<void(std::string)>& done);
  void send_now(RankId to, Frame frame);
  std::shared_ptr<Connection> connect(RankId to);
  std::shared_ptr<Connection> adopt(Connection::Socket socket);
  void greet(const std::shared_ptr<Connection>& connection);
  void accept_unix();
  void accept_tcp();
  void on_frame(const std::shared_ptr<Connection>& connection, Frame frame);
  void on_closed(const std::shared_ptr<Connection>& connection, const std::string& reason);
  void lose(RankId rank, const std::string& how);

  boost::asio::io_context& context_;
  RankId rank_;
  std::string unix_name_, secret_;
  boost::asio::local::stream_protocol::acceptor unix_acceptor_;
  boost::asio::ip::tcp::acceptor tcp_acceptor_;
  std::vector<Address> addresses_;
  std::map<MessageType, Handler> handlers_;
  OnLost on_lost_;
  std::map<int, std::shared_ptr<Connection>> links_;   // the connection used for sending, by rank
  std::set<std::shared_ptr<Connection>> connections_;  // all
  std::set<int> departed_, lost_;
  bool closed_ = false;
};

}  // namespace muster::detail
