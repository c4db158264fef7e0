#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// What went wrong, grouped by what the caller does next.
enum class ErrorCode {
  usage,                ///< fix the call
  service_mismatch,     ///< fix the call: the device is of another backend
  already_registered,   ///< use the server that runs, or another device
  foreign_handle,       ///< fix the call: the memory belongs to another device
  out_of_memory,        ///< free memory, or raise the limit
  compile_failed,       ///< fix the kernel
  capture_failed,       ///< fix what is recorded, and record again
  launch_failed,        ///< fix the kernel
  device_closed,        ///< the device was shut down; make no further calls
  no_device_transport,  ///< choose another path
  timed_out,            ///< a deadline passed; the peers may still be alive
  peer_lost,            ///< form a group without that rank
  peer_failed,          ///< a peer could not contribute its part
  mismatch,             ///< ranks issued different operations; fix the program
  bootstrap_failed,     ///< the job could not form; fix the launch
  several,              ///< more than one failure: see Several::failures
  internal,             ///< a fault here, or in a library below
};

std::string_view name(ErrorCode code) noexcept;

class Error;

/// A failure as a value: kept with the memory that it left unwritten. Never null where one is expected.
using Failure = std::shared_ptr<const Error>;

/// Base of all errors that muster throws. Copies are cheap enough to be thrown many times.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, Failure cause = nullptr);

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  /// The failure that led to this one, or null.
  [[nodiscard]] const Failure& cause() const noexcept { return cause_; }
  /// Throws a copy of this error with its own type.
  [[noreturn]] virtual void raise() const { throw *this; }
  /// A shared copy with its own type.
  [[nodiscard]] virtual Failure share() const { return std::make_shared<const Error>(*this); }

 private:
  ErrorCode code_;
  Failure cause_;
};

/// Gives an error type its own `raise`, so that a stored failure is rethrown with its type.
template <class Self>
class TypedError : public Error {
 public:
  using Error::Error;
  [[noreturn]] void raise() const override { throw static_cast<const Self&>(*this); }
  [[nodiscard]] Failure share() const override { return std::make_shared<const Self>(static_cast<const Self&>(*this)); }
};

/// Misuse that would read foreign memory, cut an element or deadlock. Thrown before anything is enqueued.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(ErrorCode::usage, message) {}
  [[noreturn]] void raise() const override { throw *this; }
  [[nodiscard]] Failure share() const override { return std::make_shared<const UsageError>(*this); }

 protected:
  UsageError(ErrorCode code, const std::string& message) : Error(code, message) {}
};

/// A handle of another device was passed to a client.
class ForeignHandle : public UsageError {
 public:
  ForeignHandle(std::string handle_service, std::string client_service);
  [[noreturn]] void raise() const override { throw *this; }
  [[nodiscard]] Failure share() const override { return std::make_shared<const ForeignHandle>(*this); }
  [[nodiscard]] const std::string& handle_service() const noexcept { return handle_service_; }
  [[nodiscard]] const std::string& client_service() const noexcept { return client_service_; }

 private:
  std::string handle_service_, client_service_;
};

/// The raw storage of another backend was asked for.
class ServiceMismatch : public TypedError<ServiceMismatch> {
 public:
  ServiceMismatch(const std::string& asked, const std::string& service);
};

/// A server was registered for a device that has one.
class AlreadyRegistered : public TypedError<AlreadyRegistered> {
 public:
  explicit AlreadyRegistered(const std::string& device);
};

class OutOfMemory : public TypedError<OutOfMemory> {
 public:
  explicit OutOfMemory(const std::string& message) : TypedError(ErrorCode::out_of_memory, message) {}
};

/// A kernel could not be compiled for the device.
class CompileFailed : public TypedError<CompileFailed> {
 public:
  CompileFailed(const std::string& kernel, const std::string& reason);
  [[nodiscard]] const std::string& kernel() const noexcept { return kernel_; }

 private:
  std::string kernel_;
};

/// Something was done while a stream recorded a graph that a graph cannot hold.
class CaptureFailed : public TypedError<CaptureFailed> {
 public:
  explicit CaptureFailed(const std::string& message) : TypedError(ErrorCode::capture_failed, message) {}
};

/// Memory cannot be addressed by another device.
class NoDeviceTransport : public TypedError<NoDeviceTransport> {
 public:
  NoDeviceTransport(const std::string& from, const std::string& to);
};

/// A kernel threw, or could not be started.
class LaunchFailed : public TypedError<LaunchFailed> {
 public:
  LaunchFailed(const std::string& kernel, const std::string& reason);
  [[nodiscard]] const std::string& kernel() const noexcept { return kernel_; }

 private:
  std::string kernel_;
};

/// The device was closed, or the process is ending.
class DeviceClosed : public TypedError<DeviceClosed> {
 public:
  explicit DeviceClosed(const std::string& device);
  DeviceClosed(const std::string& device, const std::string& why);
};

/// A wait reached its deadline.
class TimedOut : public TypedError<TimedOut> {
 public:
  explicit TimedOut(const std::string& message) : TypedError(ErrorCode::timed_out, message) {}
};

/// More than one failure was found; each stands once.
class Several : public TypedError<Several> {
 public:
  explicit Several(std::vector<Failure> failures);
  [[nodiscard]] const std::vector<Failure>& failures() const noexcept { return failures_; }

 private:
  std::vector<Failure> failures_;
};

/// Wraps the exception now being handled. Call inside a catch block only.
Failure current_failure();

}  // namespace muster
