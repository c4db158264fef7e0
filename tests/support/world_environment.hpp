#pragma once

#include <muster/world.hpp>

namespace muster::test {

/// The world of this test program; formed before the first test, shut down after the last.
World& world();

}  // namespace muster::test
