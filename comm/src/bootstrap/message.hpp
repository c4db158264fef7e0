#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "muster/device.hpp"
#include "muster/error.hpp"

namespace muster::detail {

/// Builds the payload of a control message. Native byte order: a job runs on one architecture.
class MessageWriter {
 public:
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) MessageWriter& put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  MessageWriter& put(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  MessageWriter& put(const DeviceId& device) { return put(device.backend).put(device.rank.value).put(device.ordinal); }
  MessageWriter& put(const std::vector<DeviceId>& devices) {
    put(static_cast<std::uint32_t>(devices.size()));
    for (const DeviceId& device : devices) put(device);
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads such a payload. Everything is checked: a payload that ends early, or claims more than it holds, throws.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) T get() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(get<std::uint32_t>())); }
  DeviceId device() {
    DeviceId device;
    device.backend = get<Backend>();
    device.rank.value = get<int>();
    device.ordinal = get<int>();
    return device;
  }
  std::vector<DeviceId> devices() {
    const auto count = get<std::uint32_t>();
    constexpr std::size_t device_bytes = sizeof(Backend) + 2 * sizeof(int);
    if (count > rest_.size() / device_bytes) short_message();
    std::vector<DeviceId> devices(count);
    for (DeviceId& each : devices) each = device();
    return devices;
  }

 private:
  [[noreturn]] static void short_message() {
    throw Error(ErrorCode::internal, "a control message is shorter than it says");
  }
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) short_message();
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
};

}  // namespace muster::detail
