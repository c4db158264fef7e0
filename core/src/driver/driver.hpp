#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actor/actor.hpp"
#include "kernel/kernel_cache.hpp"
#include "memory/device_page.hpp"
#include "muster/bytes.hpp"
#include "muster/device_properties.hpp"
#include "muster/device_work.hpp"
#include "muster/kernel.hpp"
#include "muster/layout.hpp"
#include "server/launch_monitor.hpp"
#include "server/profile_window.hpp"

namespace muster::detail {

/// One queue of a device. enqueue() is called by the actor only; the rest from any thread.
class DriverStream {
 public:
  virtual ~DriverStream() = default;
  /// Returns the ticket that reached() answers for.
  virtual std::uint64_t enqueue(std::unique_ptr<StreamOperation> operation) = 0;
  [[nodiscard]] virtual std::uint64_t last_ticket() const noexcept = 0;
  /// The counter behind reached(), if the device has one in memory.
  [[nodiscard]] virtual const std::atomic<std::uint64_t>* done_count() const noexcept { return nullptr; }
  [[nodiscard]] virtual bool reached(std::uint64_t ticket) const noexcept = 0;
  /// An operation of this stream that begins or ends the window at its place.
  virtual std::unique_ptr<StreamOperation> make_window_edge(std::shared_ptr<ProfileWindow> window, WindowEdge edge) = 0;
};

/// What a device tells of itself.
struct DeviceDescription {
  DeviceProperties properties;
  DeviceFeatures features;
  TargetProperties target;
  std::string identity;
};

/// A launch as the server hands it to the driver.
struct Launch {
  Kernel kernel;
  std::shared_ptr<const CompiledKernel> code;
  Count count;
  std::vector<Argument> arguments;
  std::unique_ptr<LaunchReport> report;  // null where nobody wants to know
};

/// What the hardware API does; all else is the Server's. Called by the actor only, unless said otherwise.
class Driver {
 public:
  virtual ~Driver() = default;
  [[nodiscard]] virtual const DeviceDescription& description() const noexcept = 0;
  /// Throws OutOfMemory.
  virtual std::unique_ptr<DevicePage> make_page(std::size_t size_bytes) = 0;
  virtual std::unique_ptr<DriverStream> make_stream(StreamId id) = 0;

  /// Whether the host reads the memory of this device in place, so that lazy reads need no copy.
  [[nodiscard]] virtual bool host_reads_memory() const noexcept = 0;

  /// Copies packed bytes to the rows of the destination.
  virtual std::unique_ptr<StreamOperation> make_write(Handle destination, Rows rows, Bytes bytes) = 0;
  /// Calls `done` with the rows as packed bytes, or `failed` with what they carry.
  virtual std::unique_ptr<StreamOperation> make_read(Handle source, Rows rows, std::function<void(Bytes)> done,
                                                     std::function<void(const Failure&)> failed) = 0;
  virtual std::unique_ptr<StreamOperation> make_copy(Handle source, Handle destination) = 0;
  /// Whether launches of this kernel need what compile() gives.
  [[nodiscard]] virtual bool compiles(const Kernel& kernel) const noexcept = 0;
  /// What launches of this kernel need besides it; null where that is nothing. Any thread; throws what keeps it from
  /// compiling.
  virtual std::shared_ptr<const CompiledKernel> compile(const Kernel& kernel) = 0;
  virtual std::unique_ptr<StreamOperation> make_launch(Launch launch) = 0;
  /// Whether kernels here can address memory of `other`, a device of this process.
  [[nodiscard]] virtual bool can_access_peer(const Driver& other) const noexcept = 0;
  /// An operation that is done once `stream` has reached `ticket`.
  virtual std::unique_ptr<StreamOperation> make_wait(const DriverStream& stream, std::uint64_t ticket) = 0;
};

}  // namespace muster::detail
