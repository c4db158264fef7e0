#include "driver/host/host_driver.hpp"

#include "driver/host/host_launch.hpp"
#include "driver/host/host_operations.hpp"
#include "memory/mapped_page.hpp"
#include "muster/error.hpp"

namespace muster::detail {

namespace {

/// The stream set owns the queues; the server holds this.
class StreamReference final : public DriverStream {
 public:
  explicit StreamReference(HostStream& stream) : stream_(stream) {}
  std::uint64_t enqueue(std::unique_ptr<StreamOperation> operation) override {
    return stream_.enqueue(std::move(operation));
  }
  [[nodiscard]] std::uint64_t last_ticket() const noexcept override { return stream_.last_ticket(); }
  [[nodiscard]] const std::atomic<std::uint64_t>* done_count() const noexcept override { return stream_.done_count(); }
  [[nodiscard]] bool reached(std::uint64_t ticket) const noexcept override { return stream_.reached(ticket); }
  std::unique_ptr<StreamOperation> make_window_edge(std::shared_ptr<ProfileWindow> window, WindowEdge edge) override {
    return stream_.make_window_edge(std::move(window), edge);
  }

 private:
  HostStream& stream_;
};

}  // namespace

std::unique_ptr<DevicePage> HostDriver::make_page(std::size_t size_bytes) {
  return std::make_unique<MappedPage>(size_bytes);
}

std::unique_ptr<DriverStream> HostDriver::make_stream(StreamId id) {
  return std::make_unique<StreamReference>(streams_.add(id, bell_));
}

std::unique_ptr<StreamOperation> HostDriver::make_write(Handle destination, Rows rows, Bytes bytes) {
  return std::make_unique<HostWrite>(std::move(destination), rows, std::move(bytes));
}

std::unique_ptr<StreamOperation> HostDriver::make_read(Handle source, Rows rows, std::function<void(Bytes)> done,
                                                       std::function<void(const Failure&)> failed) {
  return std::make_unique<HostRead>(std::move(source), rows, std::move(done), std::move(failed));
}

std::unique_ptr<StreamOperation> HostDriver::make_copy(Handle source, Handle destination) {
  return std::make_unique<HostCopy>(std::move(source), std::move(destination));
}

std::shared_ptr<const CompiledKernel> HostDriver::compile(const Kernel& kernel) {
  Kernel::Body body = kernel.state().compile(description_.target);
  if (!body) throw CompileFailed(kernel.name(), "its compilation gave no function");
  return std::make_shared<const HostCode>(std::move(body));
}

std::unique_ptr<StreamOperation> HostDriver::make_launch(Launch launch) {
  return std::make_unique<HostLaunch>(
      HostLaunchPlan{std::move(launch.kernel), std::move(launch.code), std::move(launch.count), std::move(launch.arguments),
                     kernel_threads_of(options_, description_.properties.cores)},
      std::move(launch.report));
}

bool HostDriver::can_access_peer(const Driver& other) const noexcept {
  const auto* host = dynamic_cast<const HostDriver*>(&other);
  return host && host != this && options_.peers == PeerAccess::shared && host->options_.peers == PeerAccess::shared;
}

std::unique_ptr<StreamOperation> HostDriver::make_wait(const DriverStream& stream, std::uint64_t ticket) {
  return std::make_unique<HostWait>(stream, ticket);
}

}  // namespace muster::detail
