#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "memory/device_page.hpp"
#include "muster/device_work.hpp"

namespace muster::detail {

/// A memfd, mapped, with all its memory reserved, so that a full system is an error here and not a bus error later.
/// Registered under an id that is never used again in this process.
class MappedPage final : public DevicePage {
 public:
  /// Throws OutOfMemory.
  explicit MappedPage(std::size_t size_bytes);
  MappedPage(const MappedPage&) = delete;
  MappedPage& operator=(const MappedPage&) = delete;
  ~MappedPage() override;

  [[nodiscard]] std::byte* data() const noexcept override { return data_; }
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  [[nodiscard]] std::uint64_t id() const noexcept override { return id_; }
  [[nodiscard]] PageView view() const noexcept { return {id_, descriptor_, size_, data_}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
  int descriptor_ = -1;
  std::uint64_t id_;
};

}  // namespace muster::detail
