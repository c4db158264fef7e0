#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "memory/storage.hpp"
#include "muster/device_work.hpp"
#include "muster/handle.hpp"
#include "server/failure_ledger.hpp"

namespace muster::detail {

/// One allocation of a device, made by the caller and filled in by the actor. Streams hold handles to what they use, so
/// the last one dropped may free it.
class Allocation {
 public:
  Allocation(ServiceId service, std::size_t size) : service_(service), size_(size) {}
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  [[nodiscard]] const ServiceId& service() const noexcept { return service_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] FailureLedger& failures() noexcept { return failures_; }

  /// Set by the actor before any stream operation can see it; replaced only in stream order, by a writer.
  void set_storage(std::shared_ptr<Storage> storage) noexcept { storage_ = std::move(storage); }
  /// Null where nothing could be allocated.
  [[nodiscard]] const std::shared_ptr<Storage>& storage() const noexcept { return storage_; }

  /// Handles that the program holds, as opposed to work that is queued.
  [[nodiscard]] std::atomic<std::size_t>& held() noexcept { return held_; }
  [[nodiscard]] const std::atomic<std::size_t>& held() const noexcept { return held_; }

  /// Who used it last, and who relies on what; for the actor only.
  struct Uses {
    StreamPoint writer;
    bool written = false;
    std::vector<StreamPoint> readers;              // since the last writer
    std::vector<std::weak_ptr<const void>> views;  // lazy reads that share the storage
    bool in_place = false;                         // its address was given out: the storage must not be replaced
  };
  [[nodiscard]] Uses& uses() noexcept { return uses_; }

 private:
  ServiceId service_;
  std::size_t size_;
  std::shared_ptr<Storage> storage_;
  FailureLedger failures_;
  std::atomic<std::size_t> held_{0};
  Uses uses_;
};

}  // namespace muster::detail
