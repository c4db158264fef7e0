#pragma once

#include <cstring>
#include <functional>
#include <vector>

#include "driver/driver.hpp"
#include "muster/bytes.hpp"

namespace muster::detail {

inline void copy_rows(std::byte* to, std::size_t to_pitch, const std::byte* from, std::size_t from_pitch,
                      const Rows& rows) {
  if (rows.contiguous()) {
    std::memcpy(to, from, rows.packed_size());
    return;
  }
  for (std::size_t i = 0; i < rows.count; ++i) std::memcpy(to + i * to_pitch, from + i * from_pitch, rows.bytes);
}

class HostWrite final : public StreamOperation {
 public:
  HostWrite(Handle destination, Rows rows, Bytes bytes)
      : destination_(std::move(destination)), rows_(rows), bytes_(std::move(bytes)) {}
  bool poll() override {
    if (bytes_.empty()) return true;
    if (!bytes_.ready()) return false;  // of a lazy read that another stream still has to come to
    const std::byte* source = std::as_const(bytes_).data();
    copy_rows(memory_of(destination_).address, rows_.pitch, source, rows_.bytes, rows_);
    return true;
  }
  [[nodiscard]] std::span<const Handle> writes() const override { return {&destination_, 1}; }

 private:
  Handle destination_;
  Rows rows_;
  Bytes bytes_;
};

class HostRead final : public StreamOperation {
 public:
  HostRead(Handle source, Rows rows, std::function<void(Bytes)> done, std::function<void(const Failure&)> failed)
      : source_(std::move(source)), rows_(rows), done_(std::move(done)), failed_(std::move(failed)) {}
  bool poll() override {
    Bytes bytes(rows_.packed_size());
    if (!bytes.empty()) copy_rows(bytes.data(), rows_.bytes, memory_of(source_).address, rows_.pitch, rows_);
    done_(std::move(bytes));
    return true;
  }
  [[nodiscard]] std::span<const Handle> reads() const override { return {&source_, 1}; }
  void failed(const Failure& failure) override { failed_(failure); }

 private:
  Handle source_;
  Rows rows_;
  std::function<void(Bytes)> done_;
  std::function<void(const Failure&)> failed_;
};

class HostCopy final : public StreamOperation {
 public:
  HostCopy(Handle source, Handle destination) : source_(std::move(source)), destination_(std::move(destination)) {}
  bool poll() override {
    if (source_.size() != 0) std::memmove(memory_of(destination_).address, memory_of(source_).address, source_.size());
    return true;
  }
  [[nodiscard]] std::span<const Handle> reads() const override { return {&source_, 1}; }
  [[nodiscard]] std::span<const Handle> writes() const override { return {&destination_, 1}; }
  [[nodiscard]] bool repeatable() const noexcept override { return true; }

 private:
  Handle source_, destination_;
};

class HostWait final : public StreamOperation {
 public:
  HostWait(const DriverStream& stream, std::uint64_t ticket) : stream_(stream), ticket_(ticket) {}
  bool poll() override { return stream_.reached(ticket_); }
  [[nodiscard]] bool is_work() const noexcept override { return false; }

 private:
  const DriverStream& stream_;  // streams live as long as their device
  std::uint64_t ticket_;
};

}  // namespace muster::detail
