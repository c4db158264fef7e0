#include "muster/error.hpp"

#include <fmt/format.h>

namespace muster {

std::string_view name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::usage:
      return "usage";
    case ErrorCode::service_mismatch:
      return "service mismatch";
    case ErrorCode::already_registered:
      return "already registered";
    case ErrorCode::foreign_handle:
      return "foreign handle";
    case ErrorCode::out_of_memory:
      return "out of memory";
    case ErrorCode::compile_failed:
      return "compile failed";
    case ErrorCode::capture_failed:
      return "capture failed";
    case ErrorCode::launch_failed:
      return "launch failed";
    case ErrorCode::device_closed:
      return "device closed";
    case ErrorCode::no_device_transport:
      return "no device transport";
    case ErrorCode::timed_out:
      return "timed out";
    case ErrorCode::peer_lost:
      return "peer lost";
    case ErrorCode::peer_failed:
      return "peer failed";
    case ErrorCode::mismatch:
      return "mismatch";
    case ErrorCode::bootstrap_failed:
      return "bootstrap failed";
    case ErrorCode::several:
      return "several failures";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";
}

Error::Error(ErrorCode code, const std::string& message, Failure cause)
    : std::runtime_error(cause ? fmt::format("{}; because: {}", message, cause->what()) : message),
      code_(code),
      cause_(std::move(cause)) {}

ForeignHandle::ForeignHandle(std::string handle_service, std::string client_service)
    : UsageError(ErrorCode::foreign_handle,
                 fmt::format("the handle belongs to {}, but was passed to a client of {}; move it there first, or use "
                             "a client of its own device",
                             handle_service, client_service)),
      handle_service_(std::move(handle_service)),
      client_service_(std::move(client_service)) {}

ServiceMismatch::ServiceMismatch(const std::string& asked, const std::string& service)
    : TypedError(
          ErrorCode::service_mismatch,
          fmt::format("storage of the backend {} was asked for, but the buffer belongs to {}; ask for the resource type "
                      "of its backend",
                      asked, service)) {}

AlreadyRegistered::AlreadyRegistered(const std::string& device)
    : TypedError(ErrorCode::already_registered,
                 fmt::format("device {} has a server already; register before the first Client::load", device)) {}

CompileFailed::CompileFailed(const std::string& kernel, const std::string& reason)
    : TypedError(ErrorCode::compile_failed, fmt::format("kernel '{}' does not compile: {}", kernel, reason)),
      kernel_(kernel) {}

NoDeviceTransport::NoDeviceTransport(const std::string& from, const std::string& to)
    : TypedError(
          ErrorCode::no_device_transport,
          fmt::format("{} and {} cannot address each other's memory; copy it with to_client, or send it", from, to)) {}

LaunchFailed::LaunchFailed(const std::string& kernel, const std::string& reason)
    : TypedError(ErrorCode::launch_failed, fmt::format("kernel '{}' failed: {}", kernel, reason)), kernel_(kernel) {}

DeviceClosed::DeviceClosed(const std::string& device)
    : TypedError(ErrorCode::device_closed,
                 fmt::format("device {} is closed; make no calls on it after close or exit", device)) {}

DeviceClosed::DeviceClosed(const std::string& device, const std::string& why)
    : TypedError(ErrorCode::device_closed, fmt::format("device {} is closed: {}", device, why)) {}

namespace {
std::string list_of(const std::vector<Failure>& failures) {
  std::string text = fmt::format("{} failures:", failures.size());
  for (const Failure& failure : failures) text += fmt::format("\n  {}", failure->what());
  return text;
}
}  // namespace

Several::Several(std::vector<Failure> failures)
    : TypedError(ErrorCode::several, list_of(failures)), failures_(std::move(failures)) {}

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return error.share();
  } catch (const std::bad_alloc&) {
    return std::make_shared<const OutOfMemory>("the process is out of memory");
  } catch (const std::exception& error) {
    return std::make_shared<const Error>(ErrorCode::internal, error.what());
  } catch (...) {
    return std::make_shared<const Error>(ErrorCode::internal, "an exception that is not derived from std::exception");
  }
}

}  // namespace muster
