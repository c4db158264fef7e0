#include <fmt/format.h>

#include "driver/host/host_operations.hpp"
#include "muster/error.hpp"

namespace muster {

Kernel::Kernel(std::string name, Body body)
    : state_(std::make_shared<const State>(State{std::move(name), std::move(body)})) {
  if (!state_->body) throw UsageError("kernel '" + state_->name + "' has no function");
}

const KernelContext::Slot& KernelContext::slot(std::size_t index) const {
  if (index >= slots_.size()) {
    throw UsageError(fmt::format("argument {} was asked for, but the launch gave {}", index, slots_.size()));
  }
  return slots_[index];
}

namespace detail {

HostLaunch::HostLaunch(Kernel kernel, Dim3 count, std::vector<Argument> arguments)
    : kernel_(std::move(kernel)), count_(count), arguments_(std::move(arguments)) {
  for (const Argument& argument : arguments_) {
    const auto* buffer = std::get_if<Argument::Buffer>(&argument.value);
    if (!buffer) continue;
    if (buffer->access != Access::write) reads_.push_back(buffer->handle);
    if (buffer->access != Access::read) writes_.push_back(buffer->handle);
  }
}

bool HostLaunch::poll() {
  std::vector<KernelContext::Slot> slots(arguments_.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto& value = arguments_[i].value;
    if (const auto* buffer = std::get_if<Argument::Buffer>(&value)) {
      slots[i].memory = {memory_of(buffer->handle).address, buffer->handle.size()};
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      slots[i].integer = *integer;
    } else {
      slots[i].real = std::get<double>(value);
    }
  }
  try {
    for (std::uint32_t z = 0; z < count_.z; ++z) {
      for (std::uint32_t y = 0; y < count_.y; ++y) {
        for (std::uint32_t x = 0; x < count_.x; ++x) kernel_.body()(KernelContext({x, y, z}, count_, slots));
      }
    }
  } catch (const std::exception& error) {
    throw LaunchFailed(kernel_.name(), error.what());
  } catch (...) {
    throw LaunchFailed(kernel_.name(), "it threw something that is not an exception");
  }
  return true;
}

}  // namespace detail
}  // namespace muster
