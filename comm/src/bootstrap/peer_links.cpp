#include "bootstrap/peer_links.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <random>

#include "bootstrap/message.hpp"

namespace muster::detail {

namespace asio = boost::asio;

namespace {

constexpr int connect_timeout_ms = 2000;  // for one address; tried in turn

std::string random_name(RankId rank) {
  std::random_device source;
  return fmt::format("muster-{}-{:08x}{:08x}", rank.value, source(), source());
}

/// IP addresses of the interfaces that are up, loopback last.
std::vector<std::string> own_interfaces() {
  std::vector<std::string> found, loopback;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (const ifaddrs* each = all; each; each = each->ifa_next) {
    if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET || (each->ifa_flags & IFF_UP) == 0) continue;
    sockaddr_in address{};
    std::memcpy(&address, each->ifa_addr, sizeof address);
    auto& list = (each->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : found;
    list.push_back(asio::ip::address_v4(ntohl(address.sin_addr.s_addr)).to_string());
  }
  freeifaddrs(all);
  found.insert(found.end(), loopback.begin(), loopback.end());
  return found;
}

/// Connects within the limit; the reason if it cannot.
std::string connect_within(Connection::Socket& socket, const asio::generic::stream_protocol::endpoint& endpoint) {
  boost::system::error_code error;
  socket.native_non_blocking(true, error);
  if (::connect(socket.native_handle(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) == 0) return {};
  if (errno != EINPROGRESS) return std::strerror(errno);
  pollfd waiting{socket.native_handle(), POLLOUT, 0};
  if (::poll(&waiting, 1, connect_timeout_ms) != 1) return "no answer";
  int result = 0;
  socklen_t size = sizeof result;
  getsockopt(socket.native_handle(), SOL_SOCKET, SO_ERROR, &result, &size);
  return result == 0 ? std::string{} : std::string(std::strerror(result));
}

}  // namespace

PeerLinks::PeerLinks(asio::io_context& context, RankId rank)
    : context_(context),
      rank_(rank),
      unix_name_(random_name(rank)),
      unix_acceptor_(context, asio::local::stream_protocol::endpoint(std::string(1, '\0') + unix_name_)),
      tcp_acceptor_(context, asio::ip::tcp::endpoint(asio::ip::tcp::v4(), 0)) {}

PeerLinks::Address PeerLinks::address() const {
  return {unix_name_, own_interfaces(), tcp_acceptor_.local_endpoint().port()};
}

void PeerLinks::open(std::vector<Address> addresses, std::string secret) {
  asio::post(context_, [this, addresses = std::move(addresses), secret = std::move(secret)]() mutable {
    addresses_ = std::move(addresses);
    secret_ = std::move(secret);
    accept_unix();
    accept_tcp();
  });
}

std::shared_ptr<Connection> PeerLinks::adopt(Connection::Socket socket) {
  auto connection = std::make_shared<Connection>(
      std::move(socket), [this](const auto& from, Frame frame) { on_frame(from, std::move(frame)); },
      [this](const auto& from, const std::string& reason) { on_closed(from, reason); });
  connections_.insert(connection);
  return connection;
}

void PeerLinks::accept_unix() {
  unix_acceptor_.async_accept([this](const boost::system::error_code& error, asio::local::stream_protocol::socket socket) {
    if (closed_) return;
    if (!error) adopt(std::move(socket))->start();
    accept_unix();
  });
}

void PeerLinks::accept_tcp() {
  tcp_acceptor_.async_accept([this](const boost::system::error_code& error, asio::ip::tcp::socket socket) {
    if (closed_) return;
    if (!error) {
      boost::system::error_code ignored;
      socket.set_option(asio::ip::tcp::no_delay(true), ignored);
      adopt(std::move(socket))->start();
    }
    accept_tcp();
  });
}

void PeerLinks::greet(const std::shared_ptr<Connection>& connection) {
  Frame hello;
  hello.type = static_cast<std::uint16_t>(MessageType::hello);
  hello.payload = MessageWriter().put(std::string_view(secret_)).put(rank_.value).take();
  connection->start();
  connection->send(std::move(hello));
}

void PeerLinks::connect_unix_soon(RankId to, std::function<void(std::string)> done) {
  asio::post(context_, [this, to, done = std::move(done)] { connect_unix(to, done); });
}

void PeerLinks::connect_unix(RankId to, const std::function<void(std::string)>& done) {
  if (links_.count(to.value) != 0) return done({});
  Connection::Socket socket(context_, asio::generic::stream_protocol(AF_UNIX, 0));
  const asio::local::stream_protocol::endpoint endpoint(std::string(1, '\0') + addresses_[to.value].unix_name);
  const std::string problem = connect_within(socket, endpoint);
  if (!problem.empty()) return done(problem);
  auto connection = adopt(std::move(socket));
  connection->peer = to.value;
  links_[to.value] = connection;
  greet(connection);
  done({});
}

std::shared_ptr<Connection> PeerLinks::connect(RankId to) {
  const Address& address = addresses_[to.value];
  std::string problems;
  for (const std::string& each : address.interfaces) {
    const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(each), address.port);
    Connection::Socket socket(context_, asio::generic::stream_protocol(AF_INET, IPPROTO_TCP));
    const std::string problem = connect_within(socket, endpoint);
    if (problem.empty()) {
      boost::system::error_code ignored;
      socket.set_option(asio::ip::tcp::no_delay(true), ignored);
      auto connection = adopt(std::move(socket));
      connection->peer = to.value;
      links_[to.value] = connection;
      greet(connection);
      return connection;
    }
    problems += fmt::format("{}{}:{} ({})", problems.empty() ? "" : ", ", each, address.port, problem);
  }
  lose(to, "it cannot be reached over TCP at " + problems);
  return nullptr;
}

void PeerLinks::send(RankId to, MessageType type, std::string payload, int descriptor) {
  Frame frame;
  frame.type = static_cast<std::uint16_t>(type);
  frame.payload = std::move(payload);
  if (descriptor >= 0) frame.descriptor = UniqueFd(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  asio::post(context_, [this, to, frame = std::make_shared<Frame>(std::move(frame))] { send_now(to, std::move(*frame)); });
}

void PeerLinks::send_now(RankId to, Frame frame) {
  if (closed_ || lost_.count(to.value) != 0) return;
  if (to == rank_) {
    const auto handler = handlers_.find(static_cast<MessageType>(frame.type));
    if (handler != handlers_.end()) handler->second(rank_, frame.payload, std::move(frame.descriptor));
    return;
  }
  const auto known = links_.find(to.value);
  const auto connection = known != links_.end() ? known->second : connect(to);
  if (connection) connection->send(std::move(frame));
}

void PeerLinks::on_frame(const std::shared_ptr<Connection>& connection, Frame frame) {
  try {
    const auto type = static_cast<MessageType>(frame.type);
    if (type == MessageType::hello) {
      MessageReader reader(frame.payload);
      const std::string secret = reader.text();
      const int rank = reader.get<int>();
      if (secret != secret_ || rank < 0 || rank >= static_cast<int>(addresses_.size())) {
        spdlog::warn("muster: refused a connection that does not belong to this job");
        connections_.erase(connection);
        return connection->close();
      }
      connection->peer = rank;
      links_.emplace(rank, connection);
      return;
    }
    if (connection->peer < 0) {
      connections_.erase(connection);
      return connection->close();  // said something before it said who it is
    }
    if (type == MessageType::goodbye) {
      departed_.insert(connection->peer);
      return;
    }
    const auto handler = handlers_.find(type);
    if (handler != handlers_.end()) handler->second(RankId{connection->peer}, frame.payload, std::move(frame.descriptor));
  } catch (const std::exception& error) {
    spdlog::error("muster: a control message of rank {} could not be used: {}", connection->peer, error.what());
  }
}

void PeerLinks::on_closed(const std::shared_ptr<Connection>& connection, const std::string& reason) {
  connections_.erase(connection);
  if (connection->peer < 0 || departed_.count(connection->peer) != 0) return;
  lose(RankId{connection->peer}, "its control connection ended: " + reason);
}

void PeerLinks::lose(RankId rank, const std::string& how) {
  links_.erase(rank.value);
  if (closed_ || departed_.count(rank.value) != 0 || !lost_.insert(rank.value).second) return;
  if (on_lost_) on_lost_(rank, how);
}

void PeerLinks::lose_soon(RankId rank, std::string how) {
  asio::post(context_, [this, rank, how = std::move(how)] { lose(rank, how); });
}

void PeerLinks::say_goodbye() {
  asio::post(context_, [this] {
    for (const auto& connection : connections_) {
      Frame goodbye;
      goodbye.type = static_cast<std::uint16_t>(MessageType::goodbye);
      connection->send(std::move(goodbye));
    }
  });
}

void PeerLinks::close() {
  closed_ = true;
  boost::system::error_code ignored;
  unix_acceptor_.close(ignored);
  tcp_acceptor_.close(ignored);
  for (const auto& connection : connections_) connection->close();
  connections_.clear();
  links_.clear();
}

}  // namespace muster::detail
