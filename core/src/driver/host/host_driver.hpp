#pragma once

#include "driver/driver.hpp"
#include "driver/host/host_stream.hpp"

namespace muster::detail {

/// Runs everything on CPU cores, in memory that other processes of the host can map.
class HostDriver final : public Driver {
 public:
  HostDriver(Doorbell& bell, HostStreamSet& streams) : bell_(bell), streams_(streams) {}

  [[nodiscard]] DeviceDescription describe(const DeviceOptions& options) const override;
  std::unique_ptr<DevicePage> make_page(std::size_t size_bytes) override;
  std::unique_ptr<DriverStream> make_stream(StreamId id) override;
  [[nodiscard]] bool host_reads_memory() const noexcept override { return true; }
  std::unique_ptr<StreamOperation> make_write(Handle destination, Rows rows, Bytes bytes) override;
  std::unique_ptr<StreamOperation> make_read(Handle source, Rows rows, std::function<void(Bytes)> done,
                                             std::function<void(const Failure&)> failed) override;
  std::unique_ptr<StreamOperation> make_copy(Handle source, Handle destination) override;
  std::unique_ptr<StreamOperation> make_launch(Kernel kernel, Dim3 count, std::vector<Argument> arguments) override;
  std::unique_ptr<StreamOperation> make_wait(const DriverStream& stream, std::uint64_t ticket) override;

 private:
  Doorbell& bell_;
  HostStreamSet& streams_;
};

}  // namespace muster::detail
