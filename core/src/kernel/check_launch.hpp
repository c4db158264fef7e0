#pragma once

#include <span>

#include "muster/kernel.hpp"

namespace muster::detail {

/// Throws UsageError where the arguments are not those that the kernel's definition takes.
void check_launch(const Kernel& kernel, std::span<const Argument> arguments);

}  // namespace muster::detail
