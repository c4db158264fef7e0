#include "driver/host/fiber_stack.hpp"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace muster::detail {

namespace {

constexpr std::size_t guard = std::size_t{4} << 10U;
constexpr std::size_t kept = 1024;  // as many as the largest block needs

void unmap(std::byte* base) noexcept { munmap(base - guard, guard + FiberStack::size); }

struct KeptStacks {
  std::vector<std::byte*> stacks;
  ~KeptStacks() {
    for (std::byte* base : stacks) unmap(base);
  }
};
thread_local KeptStacks free_stacks;

}  // namespace

FiberStack FiberStack::take() {
  auto& stacks = free_stacks.stacks;
  if (!stacks.empty()) {
    FiberStack stack(stacks.back());
    stacks.pop_back();
    return stack;
  }
  void* memory = mmap(nullptr, guard + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, guard, PROT_NONE);
  return FiberStack(static_cast<std::byte*>(memory) + guard);
}

FiberStack::FiberStack(FiberStack&& other) noexcept : base_(std::exchange(other.base_, nullptr)) {}

FiberStack::~FiberStack() {
  if (!base_) return;
  try {
    if (free_stacks.stacks.size() < kept) {
      free_stacks.stacks.push_back(base_);
      return;
    }
  } catch (...) {
    // No memory for the list: then the stack goes back.
  }
  unmap(base_);
}

}  // namespace muster::detail
