#include "group/fingerprint.hpp"

#include <fmt/format.h>

namespace muster::detail {

std::string_view name(Operation operation) noexcept {
  switch (operation) {
    case Operation::all_reduce:
      return "all_reduce";
    case Operation::reduce:
      return "reduce";
    case Operation::all_gather:
      return "all_gather";
    case Operation::reduce_scatter:
      return "reduce_scatter";
    case Operation::broadcast:
      return "broadcast";
    case Operation::gather:
      return "gather";
    case Operation::scatter:
      return "scatter";
    case Operation::all_to_all:
      return "all_to_all";
    case Operation::barrier:
      return "barrier";
  }
  return "an unknown operation";
}

std::string describe(const Fingerprint& fingerprint) {
  std::string text(name(fingerprint.operation));
  if (fingerprint.operation == Operation::barrier) return text;
  text += fmt::format(" of {} bytes", fingerprint.bytes);
  if (fingerprint.dtype < all_dtypes.size()) {
    const auto dtype = static_cast<Dtype>(fingerprint.dtype);
    text += fmt::format(" ({} elements of {})", fingerprint.bytes / size_of(dtype), name(dtype));
  }
  if (fingerprint.op < all_reduce_ops.size()) text += fmt::format(", {}", name(static_cast<ReduceOp>(fingerprint.op)));
  if (fingerprint.root >= 0) text += fmt::format(", root {}", fingerprint.root);
  return text;
}

}  // namespace muster::detail
