#include "memory/mapped_page.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "memory/available_memory.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

/// The pages of this process by id, for those who export them.
struct PageRegistry {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, PageView> pages;
  std::vector<std::function<void(std::uint64_t)>> released;
};

PageRegistry& registry() {
  static auto* const instance = new PageRegistry;  // outlives every static destructor that drops memory
  return *instance;
}

std::uint64_t next_page_id() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

PageView page_of(std::uint64_t page_id) {
  auto& pages = registry();
  const std::lock_guard lock(pages.mutex);
  const auto found = pages.pages.find(page_id);
  return found == pages.pages.end() ? PageView{} : found->second;
}

void on_page_released(std::function<void(std::uint64_t)> callback) {
  auto& pages = registry();
  const std::lock_guard lock(pages.mutex);
  pages.released.push_back(std::move(callback));
}

namespace detail {

namespace {
std::string reason(int error, std::size_t size) {
  return fmt::format(
      "cannot reserve a page of {} bytes of host memory: {}; free memory, raise the limit of the container "
      "or of open files (ulimit -n), or use smaller buffers",
      size, std::strerror(error));
}
}  // namespace

MappedPage::MappedPage(std::size_t size_bytes) : size_(size_bytes), id_(next_page_id()) {
  if (size_ > available_memory_bytes()) throw OutOfMemory(reason(ENOMEM, size_));
  descriptor_ = memfd_create("muster-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor_ < 0) throw OutOfMemory(reason(errno, size_));
  int error = 0;
  if (ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) {
    error = errno;
  } else {
    error = posix_fallocate(descriptor_, 0, static_cast<off_t>(size_));
  }
  if (error == 0) {
    // A peer that maps the page must be able to rely on its size.
    fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    void* mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor_, 0);
    if (mapped == MAP_FAILED) {
      error = errno;
    } else {
      data_ = static_cast<std::byte*>(mapped);
    }
  }
  if (error != 0) {
    ::close(descriptor_);
    throw OutOfMemory(reason(error, size_));
  }
  auto& pages = registry();
  const std::lock_guard lock(pages.mutex);
  pages.pages.emplace(id_, view());
}

MappedPage::~MappedPage() {
  auto& pages = registry();
  std::vector<std::function<void(std::uint64_t)>> released;
  {
    const std::lock_guard lock(pages.mutex);
    pages.pages.erase(id_);
    released = pages.released;
  }
  munmap(data_, size_);
  ::close(descriptor_);
  for (const auto& callback : released) callback(id_);
}

}  // namespace detail
}  // namespace muster
