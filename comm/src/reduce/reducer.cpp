#include "reduce/reducer.hpp"

#include "reduce/reducer_table.hpp"

namespace muster {

std::string_view name(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::product:
      return "product";
    case ReduceOp::min:
      return "min";
    case ReduceOp::max:
      return "max";
    case ReduceOp::average:
      return "average";
    case ReduceOp::bit_and:
      return "and";
    case ReduceOp::bit_or:
      return "or";
    case ReduceOp::bit_xor:
      return "xor";
  }
  return "unknown";
}

std::optional<ReduceOp> reduce_op_of(std::string_view wanted) noexcept {
  for (const ReduceOp op : all_reduce_ops) {
    if (name(op) == wanted) return op;
  }
  return std::nullopt;
}

bool supports(Dtype dtype, ReduceOp op) noexcept {
  return detail::reducers_baseline()[static_cast<std::size_t>(dtype)][static_cast<std::size_t>(op)].reduce != nullptr;
}

namespace detail {

namespace {
const ReducerTable& best_table() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return reducers_avx512();
  }
  if (__builtin_cpu_supports("avx2")) return reducers_avx2();
#endif
  return reducers_baseline();
}
}  // namespace

const Reducer& reducer_for(Dtype dtype, ReduceOp op) noexcept {
  static const ReducerTable& table = best_table();
  return table[static_cast<std::size_t>(dtype)][static_cast<std::size_t>(op)];
}

}  // namespace detail
}  // namespace muster
