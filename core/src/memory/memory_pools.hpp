#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <unordered_map>

#include "memory/exclusive_pool.hpp"
#include "memory/memory_pool.hpp"
#include "memory/sliced_pool.hpp"

namespace muster::detail {

/// What an allocation asks for.
struct MemoryRequest {
  std::size_t size_bytes = 0;
  AllocationMode mode = AllocationMode::pooled;
  StreamId stream{};  ///< whose use it is counted as
};

/// A range, and whose it is.
struct Grant {
  PageRange range;
  StreamId stream{};
};

/// All memory of a device. Used by the actor only.
class MemoryPools {
 public:
  using MakePage = std::function<std::unique_ptr<DevicePage>(std::size_t)>;
  /// `limit_bytes` bounds what is reserved; 0 is no limit.
  MemoryPools(MakePage make_page, std::size_t limit_bytes);
  MemoryPools(const MemoryPools&) = delete;
  MemoryPools& operator=(const MemoryPools&) = delete;

  /// Throws OutOfMemory, after having returned to the driver what nothing uses.
  Grant take(const MemoryRequest& request);
  /// Of what is reserved already: nothing is asked of the driver. Throws OutOfMemory.
  Grant take_reserved(const MemoryRequest& request);
  void begin_recording() noexcept { ++source_.recordings; }
  void end_recording() noexcept { --source_.recordings; }
  void give_back(const Grant& grant);
  /// Returns to the driver the pages that nothing uses; those of persistent allocations too.
  void trim();

  [[nodiscard]] MemoryReport report(DeviceId device) const;
  [[nodiscard]] MemoryReport report(DeviceId device, StreamId stream) const;
  [[nodiscard]] std::size_t reserved_bytes() const noexcept;
  [[nodiscard]] std::size_t in_use_bytes() const noexcept;

 private:
  struct Use {
    std::size_t allocations = 0, in_use = 0, high_water = 0;
  };
  Grant take_counted(const MemoryRequest& request);
  PageRange take_range(const MemoryRequest& request);
  MemoryPool& pool_for(const MemoryRequest& request) noexcept;
  void trim_swept();
  void make_room(std::size_t size_bytes);
  [[nodiscard]] std::array<const MemoryPool*, 4> pools() const noexcept {
    return {&small_, &large_, &exclusive_, &persistent_};
  }

  PageSource source_;
  SlicedPool small_, large_;
  ExclusivePool exclusive_, persistent_;
  std::unordered_map<DevicePage*, std::unique_ptr<DevicePage>> dedicated_;
  std::map<std::pair<StreamId, PoolKind>, Use> uses_;
  bool may_grow_ = true;
  std::size_t in_use_ = 0, peak_in_use_ = 0;  // of all pools
};

}  // namespace muster::detail
