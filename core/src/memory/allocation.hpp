#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "memory/page_pool.hpp"
#include "muster/device_work.hpp"
#include "muster/handle.hpp"
#include "server/failure_ledger.hpp"

namespace muster::detail {

/// Ranges whose last handle was dropped, from any thread, until the actor takes them back.
class DropQueue {
 public:
  void push(const PageRange& range) {
    const std::lock_guard lock(mutex_);
    ranges_.push_back(range);
  }
  std::vector<PageRange> take_all() {
    const std::lock_guard lock(mutex_);
    return std::exchange(ranges_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<PageRange> ranges_;
};

/// One allocation of a device, made by the caller and filled in by the actor. Streams hold handles to what they use, so
/// the last one dropped may free it.
class Allocation {
 public:
  Allocation(ServiceId service, std::size_t size, std::shared_ptr<DropQueue> dropped)
      : service_(service), size_(size), dropped_(std::move(dropped)) {}
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() {
    if (range_.page) dropped_->push(range_);
  }

  [[nodiscard]] const ServiceId& service() const noexcept { return service_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] FailureLedger& failures() noexcept { return failures_; }

  /// Set by the actor before any stream operation can see it.
  void set_range(const PageRange& range) noexcept { range_ = range; }
  [[nodiscard]] const PageRange& range() const noexcept { return range_; }

  /// Who used it last; for the actor only.
  struct Uses {
    StreamPoint writer;
    bool written = false;
    std::vector<StreamPoint> readers;  // since the last writer
  };
  [[nodiscard]] Uses& uses() noexcept { return uses_; }

 private:
  ServiceId service_;
  std::size_t size_;
  std::shared_ptr<DropQueue> dropped_;
  PageRange range_;
  FailureLedger failures_;
  Uses uses_;
};

}  // namespace muster::detail
