#include "muster/recycled.hpp"

#include <array>
#include <new>

namespace muster {

namespace {

constexpr std::size_t step = 64;   // sizes of one list differ by less
constexpr std::size_t lists = 12;  // larger objects are not kept
constexpr std::size_t kept_per_list = 512;

struct FreeBlock {
  FreeBlock* next;
};

/// The blocks that a thread keeps; given back when it ends.
class FreeLists {
 public:
  FreeLists() = default;
  FreeLists(const FreeLists&) = delete;
  FreeLists& operator=(const FreeLists&) = delete;
  ~FreeLists() {
    for (std::size_t list = 0; list < lists; ++list) {
      while (void* block = take(list)) ::operator delete(block);
    }
    ended = true;
  }

  void* take(std::size_t list) noexcept {
    FreeBlock* block = heads_[list];
    if (!block) return nullptr;
    heads_[list] = block->next;
    --counts_[list];
    return block;
  }
  bool keep(std::size_t list, void* memory) noexcept {
    if (ended || counts_[list] == kept_per_list) return false;
    heads_[list] = new (memory) FreeBlock{heads_[list]};
    ++counts_[list];
    return true;
  }

  bool ended = false;

 private:
  std::array<FreeBlock*, lists> heads_{};
  std::array<std::size_t, lists> counts_{};
};

thread_local FreeLists free_lists;

}  // namespace

void* Recycled::operator new(std::size_t size) {
  const std::size_t list = (size - 1) / step;
  if (list >= lists) return ::operator new(size);
  if (void* kept = free_lists.take(list)) return kept;
  return ::operator new((list + 1) * step);
}

void Recycled::operator delete(void* memory, std::size_t size) noexcept {
  const std::size_t list = (size - 1) / step;
  if (list < lists && free_lists.keep(list, memory)) return;
  ::operator delete(memory);
}

}  // namespace muster
