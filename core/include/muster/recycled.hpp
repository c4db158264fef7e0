#pragma once

#include <cstddef>

namespace muster {

/// Base of small objects that are made and destroyed at a high rate, hundreds at a time: their memory is kept in lists of
/// the thread that destroys them, up to a bound, and taken from there before the allocator is asked. Destroy through a
/// virtual destructor, so that the size is known.
class Recycled {
 public:
  static void* operator new(std::size_t size);
  static void operator delete(void* memory, std::size_t size) noexcept;

 protected:
  ~Recycled() = default;
};

}  // namespace muster
