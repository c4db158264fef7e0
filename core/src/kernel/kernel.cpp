#include "muster/kernel.hpp"

#include <fmt/format.h>

#include "kernel/check_launch.hpp"
#include "muster/error.hpp"
#include "muster/kernel_language_host.hpp"

namespace muster {

namespace {
constexpr std::uint64_t largest_block = 1024;
}

Count Count::dynamic(Handle handle) {
  constexpr std::size_t needed = 3 * sizeof(std::uint32_t);
  if (!handle.valid() || handle.size() < needed) {
    throw UsageError(fmt::format("a dynamic count is three u32, {} bytes; the handle has {}", needed, handle.size()));
  }
  return Count(handle.slice(0, needed).for_work());
}

Kernel::Kernel(std::string name, Body body)
    : state_(std::make_shared<const State>(State{{std::move(name), {}}, std::move(body), {}, nullptr, {}})) {
  if (!state_->body) throw UsageError("kernel '" + state_->id.name + "' has no function");
}

Kernel::Kernel(KernelId id, Compile compile)
    : state_(std::make_shared<const State>(State{std::move(id), {}, std::move(compile), nullptr, {}})) {
  if (!state_->compile) throw UsageError("kernel '" + state_->id.name + "' has nothing that compiles it");
}

Kernel::Kernel(const KernelDefinition& definition, Dim3 block)
    : state_(std::make_shared<const State>(
          State{{std::string(definition.name), fmt::format("{}x{}x{}", block.x, block.y, block.z)},
                {},
                {},
                &definition,
                block})) {
  if (block.product() == 0 || block.product() > largest_block) {
    throw UsageError(
        fmt::format("kernel '{}': a block has 1 to {} threads, not {}", definition.name, largest_block, block.product()));
  }
}

const KernelContext::Slot& KernelContext::slot(std::size_t index) const {
  if (index >= slots_.size()) {
    throw UsageError(fmt::format("argument {} was asked for, but the launch gave {}", index, slots_.size()));
  }
  return slots_[index];
}

namespace detail {

namespace {

[[noreturn]] void refuse(const KernelDefinition& kernel, std::size_t index, std::string_view wanted) {
  throw UsageError(fmt::format("kernel '{}': argument {} must be {}", kernel.name, index, wanted));
}

void check_parameter(const KernelDefinition& kernel, std::size_t index, const Argument& argument) {
  const auto* buffer = std::get_if<Argument::Buffer>(&argument.value);
  const auto* peer = std::get_if<Argument::Peer>(&argument.value);
  switch (kernel.parameters[index]) {
    case KernelParameter::input:
      if (!buffer && !peer && !std::holds_alternative<Argument::Metadata>(argument.value)) {
        refuse(kernel, index, "a buffer or metadata");
      }
      return;
    case KernelParameter::output:
      if (buffer && buffer->access == Access::read) refuse(kernel, index, "a buffer that it may write: out or in_out");
      if (!buffer && !peer) refuse(kernel, index, "a buffer that it may write: out or in_out");
      return;
    case KernelParameter::integer:
      if (!std::holds_alternative<std::int64_t>(argument.value)) refuse(kernel, index, "an integer scalar");
      return;
    case KernelParameter::real:
      if (!std::holds_alternative<double>(argument.value)) refuse(kernel, index, "a floating-point scalar");
      return;
  }
}

}  // namespace

void check_launch(const Kernel& kernel, std::span<const Argument> arguments) {
  const KernelDefinition* definition = kernel.state().definition;
  if (!definition) return;
  if (definition->parameters.size() != arguments.size()) {
    throw UsageError(fmt::format("kernel '{}' takes {} arguments, but {} were given", definition->name,
                                 definition->parameters.size(), arguments.size()));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) check_parameter(*definition, i, arguments[i]);
}

}  // namespace detail
}  // namespace muster
