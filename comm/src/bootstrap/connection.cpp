#include "bootstrap/connection.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace muster::detail {

Connection::Connection(Socket socket, OnFrame on_frame, OnClosed on_closed)
    : socket_(std::move(socket)), on_frame_(std::move(on_frame)), on_closed_(std::move(on_closed)) {
  socket_.native_non_blocking(true);
}

void Connection::close() {
  closed_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void Connection::fail(const std::string& reason) {
  if (closed_) return;
  close();
  on_closed_(shared_from_this(), reason);
}

void Connection::read_more() {
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
    if (self->closed_) return;
    if (error) return self->fail(error.message());
    self->on_readable();
  });
}

void Connection::on_readable() {
  std::array<char, 65536> buffer;
  constexpr std::size_t most_descriptors = 16;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * most_descriptors)> control;
  for (;;) {
    iovec piece{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(socket_.native_handle(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got < 0) return fail(std::strerror(errno));
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof descriptor);
        incoming_descriptors_.emplace_back(descriptor);
      }
    }
    if (got == 0) return fail("the connection was closed");
    incoming_.append(buffer.data(), static_cast<std::size_t>(got));
    if (!take_frames()) return;
  }
  if (!closed_) read_more();
}

bool Connection::take_frames() {
  std::size_t at = 0;
  while (incoming_.size() - at >= sizeof(Header)) {
    Header header;
    std::memcpy(&header, incoming_.data() + at, sizeof header);
    if (header.size > largest_payload || header.has_descriptor > 1) {
      fail("it sent something that is no frame");
      return false;
    }
    if (incoming_.size() - at - sizeof header < header.size) break;
    Frame frame;
    frame.type = header.type;
    frame.payload = incoming_.substr(at + sizeof header, header.size);
    if (header.has_descriptor != 0) {
      if (incoming_descriptors_.empty()) {
        fail("a file descriptor was announced, but did not come; the limit of open files (ulimit -n) may be reached");
        return false;
      }
      frame.descriptor = std::move(incoming_descriptors_.front());
      incoming_descriptors_.pop_front();
    }
    at += sizeof header + header.size;
    on_frame_(shared_from_this(), std::move(frame));
    if (closed_) return false;
  }
  incoming_.erase(0, at);
  return true;
}

void Connection::send(Frame frame) {
  if (closed_) return;
  const Header header{static_cast<std::uint32_t>(frame.payload.size()), frame.type,
                      static_cast<std::uint16_t>(frame.descriptor.valid() ? 1 : 0)};
  Outgoing next;
  next.bytes.assign(reinterpret_cast<const char*>(&header), sizeof header);
  next.bytes += frame.payload;
  next.descriptor = std::move(frame.descriptor);
  outgoing_.push_back(std::move(next));
  if (!write_waits_) write_more();
}

void Connection::write_more() {
  while (!outgoing_.empty()) {
    Outgoing& next = outgoing_.front();
    iovec piece{next.bytes.data() + next.sent, next.bytes.size() - next.sent};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    if (next.descriptor.valid()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* part = CMSG_FIRSTHDR(&message);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(sizeof(int));
      const int descriptor = next.descriptor.get();
      std::memcpy(CMSG_DATA(part), &descriptor, sizeof descriptor);
    }
    const ssize_t sent = sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      write_waits_ = true;
      socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const boost::system::error_code& error) {
        self->write_waits_ = false;
        if (!error && !self->closed_) self->write_more();
      });
      return;
    }
    if (sent < 0) return fail(std::strerror(errno));
    next.descriptor = UniqueFd();  // it went with the first byte
    next.sent += static_cast<std::size_t>(sent);
    if (next.sent == next.bytes.size()) outgoing_.pop_front();
  }
}

}  // namespace muster::detail
