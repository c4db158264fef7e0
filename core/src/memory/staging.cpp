#include "memory/staging.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "memory/available_memory.hpp"
#include "memory/exclusive_pool.hpp"

namespace muster::detail {

namespace {

std::size_t limit_from_environment() {
  if (const char* text = std::getenv("MUSTER_PINNED_LIMIT")) {
    const std::string_view view(text);
    std::size_t limit = 0;
    if (std::from_chars(view.data(), view.data() + view.size(), limit).ec == std::errc{}) return limit;
  }
  rlimit lockable{};
  std::size_t allowed = 0;
  if (getrlimit(RLIMIT_MEMLOCK, &lockable) == 0) {
    allowed = lockable.rlim_cur == RLIM_INFINITY ? available_memory_bytes() / 2 : lockable.rlim_cur / 2;
  }
  return allowed;
}

/// Locked blocks, by size class.
class PinnedBlocks {
 public:
  struct Block {
    std::byte* data = nullptr;
    std::size_t size = 0;
  };

  Block take(std::size_t size_bytes) {
    const std::size_t size = ExclusivePool::size_class(size_bytes);
    const std::lock_guard lock(mutex_);
    if (const auto found = free_.lower_bound(size); found != free_.end() && found->first <= size + size / 4) {
      const Block block{found->second, found->first};
      free_.erase(found);
      use_.in_use_bytes += block.size;
      return block;
    }
    while (use_.reserved_bytes + size > use_.limit_bytes && !free_.empty()) release(free_.begin());
    if (size > use_.limit_bytes || use_.reserved_bytes > use_.limit_bytes - size) return {};
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return {};
    if (mlock(memory, size) != 0) {
      munmap(memory, size);
      return {};
    }
    use_.reserved_bytes += size;
    use_.in_use_bytes += size;
    return {static_cast<std::byte*>(memory), size};
  }

  void give_back(const Block& block) {
    const std::lock_guard lock(mutex_);
    use_.in_use_bytes -= block.size;
    free_.emplace(block.size, block.data);
  }

  PinnedMemory use() {
    const std::lock_guard lock(mutex_);
    return use_;
  }

 private:
  void release(std::multimap<std::size_t, std::byte*>::iterator block) {
    munmap(block->second, block->first);
    use_.reserved_bytes -= block->first;
    free_.erase(block);
  }

  std::mutex mutex_;
  std::multimap<std::size_t, std::byte*> free_;
  PinnedMemory use_{0, 0, limit_from_environment()};
};

PinnedBlocks& blocks() {
  static auto* const instance = new PinnedBlocks;  // bytes may be dropped after static destructors
  return *instance;
}

class PinnedSource final : public BytesSource {
 public:
  explicit PinnedSource(PinnedBlocks::Block block) : block_(block) {}
  PinnedSource(const PinnedSource&) = delete;
  PinnedSource& operator=(const PinnedSource&) = delete;
  ~PinnedSource() override { blocks().give_back(block_); }
  [[nodiscard]] BytesKind kind() const noexcept override { return BytesKind::pinned; }
  [[nodiscard]] const std::byte* data() override { return block_.data; }
  [[nodiscard]] std::byte* writable() override { return block_.data; }

 private:
  PinnedBlocks::Block block_;
};

}  // namespace

bool move_to_pinned(Bytes& bytes) noexcept try {
  if (bytes.empty()) return false;
  const auto block = blocks().take(bytes.size());
  if (!block.data) return false;
  auto source = std::make_unique<PinnedSource>(block);
  std::memcpy(block.data, std::as_const(bytes).data(), bytes.size());
  const std::size_t size = bytes.size();
  bytes = Bytes(std::move(source), size);
  return true;
} catch (...) {
  return false;  // staging is an optimisation: the bytes are as they were
}

PinnedMemory pinned_memory() noexcept { return blocks().use(); }

}  // namespace muster::detail
