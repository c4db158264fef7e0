#pragma once

#include "driver/driver.hpp"
#include "driver/host/host_properties.hpp"
#include "driver/host/host_stream.hpp"

namespace muster::detail {

/// Runs everything on CPU cores, in memory that other processes of the host can map.
class HostDriver final : public Driver {
 public:
  HostDriver(Doorbell& bell, HostStreamSet& streams, const DeviceOptions& options)
      : bell_(bell), streams_(streams), options_(options), description_(describe_host(options)) {}

  [[nodiscard]] const DeviceDescription& description() const noexcept override { return description_; }
  std::unique_ptr<DevicePage> make_page(std::size_t size_bytes) override;
  std::unique_ptr<DriverStream> make_stream(StreamId id) override;
  [[nodiscard]] bool host_reads_memory() const noexcept override { return true; }
  std::unique_ptr<StreamOperation> make_write(Handle destination, Rows rows, Bytes bytes) override;
  std::unique_ptr<StreamOperation> make_read(Handle source, Rows rows, std::function<void(Bytes)> done,
                                             std::function<void(const Failure&)> failed) override;
  std::unique_ptr<StreamOperation> make_copy(Handle source, Handle destination) override;
  [[nodiscard]] bool compiles(const Kernel& kernel) const noexcept override { return kernel.state().compile != nullptr; }
  std::shared_ptr<const CompiledKernel> compile(const Kernel& kernel) override;
  std::unique_ptr<StreamOperation> make_launch(Launch launch) override;
  [[nodiscard]] bool can_access_peer(const Driver& other) const noexcept override;
  std::unique_ptr<StreamOperation> make_wait(const DriverStream& stream, std::uint64_t ticket) override;

 private:
  Doorbell& bell_;
  HostStreamSet& streams_;
  DeviceOptions options_;
  DeviceDescription description_;
};

}  // namespace muster::detail
