#include "server/run_operation.hpp"

#include "memory/allocation.hpp"

namespace muster::detail {

namespace {

void taint_all(std::span<const Handle> handles, const Failure& failure) {
  for (const Handle& handle : handles) {
    handle.allocation()->failures().taint(handle.offset(), handle.offset() + handle.size(), failure);
  }
}

void clear_all(std::span<const Handle> handles) {
  for (const Handle& handle : handles) {
    handle.allocation()->failures().clear(handle.offset(), handle.offset() + handle.size());
  }
}

/// The failure that keeps the operation from running: a tainted source, or memory that was never allocated.
Failure obstacle(const StreamOperation& operation) {
  for (const Handle& handle : operation.reads()) {
    if (Failure failure = failure_of(handle)) return failure;
  }
  for (const Handle& handle : operation.writes()) {
    if (!handle.allocation()->storage()) return failure_of(handle);
  }
  return nullptr;
}

}  // namespace

void end_with(StreamOperation& operation, const Failure& failure) {
  taint_all(operation.writes(), failure);
  operation.failed(failure);
}

bool run_step(StreamOperation& operation, bool started) {
  try {
    if (!started && !operation.keeps_failures()) {
      if (const Failure failure = obstacle(operation); failure && !operation.accepts_tainted(failure)) {
        end_with(operation, failure);
        return true;
      }
    }
    if (!operation.poll()) return false;
    if (!operation.keeps_failures()) clear_all(operation.writes());
  } catch (...) {
    end_with(operation, current_failure());
  }
  return true;
}

}  // namespace muster::detail
