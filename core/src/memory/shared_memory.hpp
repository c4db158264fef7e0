#pragma once

#include <memory>

#include "muster/device_work.hpp"
#include "muster/handle.hpp"

namespace muster::detail {

/// Memory that peers may address: where it is, and what keeps it there.
class SharedMemory {
 public:
  ServiceId owner;
  MemoryView view;
  std::size_t size = 0;
  Handle kept;                    // in the owner's process
  std::shared_ptr<void> mapping;  // in another
};

}  // namespace muster::detail
