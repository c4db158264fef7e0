#pragma once

#include <array>

#include "reduce/reducer.hpp"

namespace muster::detail {

using ReducerTable = std::array<std::array<Reducer, all_reduce_ops.size()>, all_dtypes.size()>;

/// The same code for several instruction sets; see CMakeLists.txt.
const ReducerTable& reducers_baseline() noexcept;
#if defined(__x86_64__)
const ReducerTable& reducers_avx2() noexcept;
const ReducerTable& reducers_avx512() noexcept;
#endif

}  // namespace muster::detail
