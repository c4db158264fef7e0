#include "muster/bytes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "muster/error.hpp"

namespace muster {

namespace {

/// A part of a file, mapped privately.
class FileSource final : public BytesSource {
 public:
  FileSource(const std::filesystem::path& path, std::size_t offset, std::size_t size) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) throw UsageError(fmt::format("cannot open {}: {}", path.string(), std::strerror(errno)));
    struct stat status {};
    const bool known = fstat(descriptor, &status) == 0;
    const auto length = known ? static_cast<std::size_t>(status.st_size) : 0;
    if (offset > length || size > length - offset) {
      ::close(descriptor);
      throw UsageError(
          fmt::format("{} has {} bytes, but bytes {} to {} were asked for", path.string(), length, offset, offset + size));
    }
    const std::size_t before = offset % static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    length_ = before + size;
    if (length_ != 0) {
      mapped_ = mmap(nullptr, length_, PROT_READ, MAP_PRIVATE, descriptor, static_cast<off_t>(offset - before));
    }
    const int error = errno;
    ::close(descriptor);
    if (mapped_ == MAP_FAILED) throw UsageError(fmt::format("cannot map {}: {}", path.string(), std::strerror(error)));
    data_ = static_cast<const std::byte*>(mapped_) + before;
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override {
    if (mapped_) munmap(mapped_, length_);
  }
  [[nodiscard]] BytesKind kind() const noexcept override { return BytesKind::file; }
  [[nodiscard]] const std::byte* data() override { return data_; }

 private:
  void* mapped_ = nullptr;
  std::size_t length_ = 0;
  const std::byte* data_ = nullptr;
};

}  // namespace

Bytes Bytes::of_file(const std::filesystem::path& path, std::size_t offset_bytes, std::size_t size_bytes) {
  return {std::make_unique<FileSource>(path, offset_bytes, size_bytes), size_bytes};
}

void Bytes::own() {
  auto owned = std::unique_ptr<std::byte[]>(new std::byte[size_]);
  if (size_ != 0) std::memcpy(owned.get(), source_->data(), size_);
  data_ = std::move(owned);
  source_.reset();
}

}  // namespace muster
