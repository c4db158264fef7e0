#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actor/actor.hpp"
#include "memory/device_page.hpp"
#include "muster/bytes.hpp"
#include "muster/device_properties.hpp"
#include "muster/device_work.hpp"
#include "muster/kernel.hpp"
#include "muster/layout.hpp"

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
};

/// What a device tells of itself.
struct DeviceDescription {
  DeviceProperties properties;
  DeviceFeatures features;
  TargetProperties target;
  std::string identity;
};

/// What the hardware API does; all else is the Server's. Called by the actor only, unless said otherwise.
class Driver {
 public:
  virtual ~Driver() = default;
  [[nodiscard]] virtual DeviceDescription describe(const DeviceOptions& options) const = 0;
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
  virtual std::unique_ptr<StreamOperation> make_launch(Kernel kernel, Dim3 count, std::vector<Argument> arguments) = 0;
  /// An operation that is done once `stream` has reached `ticket`.
  virtual std::unique_ptr<StreamOperation> make_wait(const DriverStream& stream, std::uint64_t ticket) = 0;
};

}  // namespace muster::detail
