#pragma once

namespace muster::test {

/// Whether a sanitizer watches: everything takes ten times as long then, so sizes are cut, never cases.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool instrumented = true;
#else
inline constexpr bool instrumented = false;
#endif

}  // namespace muster::test
