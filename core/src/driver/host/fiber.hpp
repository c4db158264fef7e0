#pragma once

#include <boost/context/fiber.hpp>

#include "driver/host/fiber_stack.hpp"

namespace muster::detail {

/// A function on a stack of its own that can stop half-way, and be resumed. Used by one OS thread.
///
/// Sanitizers are told of each switch, since they follow stacks.
class Fiber {
 public:
  /// `body(argument)` runs at the first resume(); it must not throw.
  Fiber(void (*body)(void*), void* argument);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// Runs until the next suspend(), or the end.
  void resume();
  /// Called inside: back to resume().
  void suspend();
  [[nodiscard]] bool finished() const noexcept { return finished_; }

 private:
  boost::context::fiber run(boost::context::fiber&& back);
  void before_switch(bool into, bool for_good);
  void after_switch(bool inside);

  FiberStack stack_ = FiberStack::take();
  void (*body_)(void*);
  void* argument_;
  boost::context::fiber inside_;   // where it stopped
  boost::context::fiber outside_;  // where resume() was called
  bool finished_ = false;

  // What sanitizers keep for the two sides.
  void* fake_stack_inside_ = nullptr;
  void* fake_stack_outside_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_size_ = 0;
  void* race_detector_inside_ = nullptr;
  void* race_detector_outside_ = nullptr;
};

}  // namespace muster::detail
