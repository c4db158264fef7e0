#pragma once

#include <cstdint>

namespace muster::detail {

/// Runs `run(argument, begin, end)` over disjoint parts of [0, total) on up to `threads` threads of the process, the
/// caller's included. Short work stays with the caller: others are asked only once some time has passed. Returns when all
/// parts are done; the first exception ends the work and is rethrown. One grid at a time is shared; others run alone.
void run_in_parallel(int threads, std::uint64_t total, void (*run)(void*, std::uint64_t begin, std::uint64_t end),
                     void* argument);

}  // namespace muster::detail
