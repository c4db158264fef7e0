#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "muster/error.hpp"

namespace muster::detail {

/// Another process's page, mapped here. The descriptor may be closed afterwards.
class MappedPeerPage {
 public:
  /// Throws Error where it cannot be mapped, or is smaller than said.
  MappedPeerPage(int descriptor, std::size_t size_bytes) : size_(size_bytes) {
    struct stat status {};
    if (fstat(descriptor, &status) != 0 || static_cast<std::size_t>(status.st_size) < size_) {
      throw Error(ErrorCode::internal, "a peer's page is smaller than it says");
    }
    void* mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (mapped == MAP_FAILED) {
      throw Error(ErrorCode::out_of_memory, std::string("a peer's page cannot be mapped: ") + std::strerror(errno));
    }
    data_ = static_cast<std::byte*>(mapped);
  }
  MappedPeerPage(MappedPeerPage&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedPeerPage& operator=(MappedPeerPage&& other) noexcept {
    MappedPeerPage taken(std::move(other));
    std::swap(data_, taken.data_);
    std::swap(size_, taken.size_);
    return *this;
  }
  ~MappedPeerPage() {
    if (data_) munmap(data_, size_);
  }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace muster::detail
