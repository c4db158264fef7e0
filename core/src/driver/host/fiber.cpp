#include "driver/host/fiber.hpp"

#include <memory>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace muster::detail {

namespace {
/// The stack is ours: boost takes and returns nothing.
struct OwnStack {
  void deallocate(boost::context::stack_context&) noexcept {}
};
}  // namespace

Fiber::Fiber(void (*body)(void*), void* argument) : body_(body), argument_(argument) {
  boost::context::stack_context context;
  context.sp = stack_.top();
  context.size = FiberStack::size;
  const boost::context::preallocated place(context.sp, context.size, context);
  inside_ = boost::context::fiber(std::allocator_arg, place, OwnStack{},
                                  [this](boost::context::fiber&& back) { return run(std::move(back)); });
#if defined(__SANITIZE_THREAD__)
  race_detector_inside_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
  // A fiber that stopped half-way unwinds its stack now.
  if (inside_) {
    before_switch(true, false);
    inside_ = {};
    after_switch(false);
  }
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(race_detector_inside_);
#endif
}

boost::context::fiber Fiber::run(boost::context::fiber&& back) {
  outside_ = std::move(back);
  after_switch(true);
  try {
    body_(argument_);
  } catch (const boost::context::detail::forced_unwind&) {
    before_switch(false, true);
    throw;
  }
  finished_ = true;
  before_switch(false, true);
  return std::move(outside_);
}

void Fiber::resume() {
  before_switch(true, false);
  inside_ = std::move(inside_).resume();
  after_switch(false);
}

void Fiber::suspend() {
  before_switch(false, false);
  try {
    outside_ = std::move(outside_).resume();
  } catch (const boost::context::detail::forced_unwind&) {
    after_switch(true);
    throw;
  }
  after_switch(true);
}

void Fiber::before_switch([[maybe_unused]] bool into, [[maybe_unused]] bool for_good) {
#if defined(__SANITIZE_ADDRESS__)
  if (into) {
    __sanitizer_start_switch_fiber(&fake_stack_outside_, stack_.bottom(), FiberStack::size);
  } else {
    __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_inside_, outside_bottom_, outside_size_);
  }
#endif
#if defined(__SANITIZE_THREAD__)
  if (into) race_detector_outside_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(into ? race_detector_inside_ : race_detector_outside_, 0);
#endif
}

void Fiber::after_switch([[maybe_unused]] bool inside) {
#if defined(__SANITIZE_ADDRESS__)
  if (inside) {
    __sanitizer_finish_switch_fiber(fake_stack_inside_, &outside_bottom_, &outside_size_);
  } else {
    __sanitizer_finish_switch_fiber(fake_stack_outside_, nullptr, nullptr);
  }
#endif
}

}  // namespace muster::detail
