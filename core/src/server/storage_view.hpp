#pragma once

#include <cstring>
#include <functional>
#include <memory>

#include "memory/allocation.hpp"
#include "muster/bytes.hpp"
#include "muster/device_work.hpp"

namespace muster::detail {

/// Takes a share of a buffer's storage in stream order, without a copy: what a lazy read refers to. Writers that come
/// later find the share in Allocation::Uses::views and move the buffer to other storage first.
class ViewStorage final : public StreamOperation {
 public:
  using Done = std::function<void(std::shared_ptr<Storage>)>;
  using Failed = std::function<void(const Failure&)>;
  ViewStorage(Handle source, Done done, Failed failed)
      : source_(std::move(source)), done_(std::move(done)), failed_(std::move(failed)) {}
  bool poll() override {
    done_(source_.allocation()->storage());
    return true;
  }
  [[nodiscard]] std::span<const Handle> reads() const override { return {&source_, 1}; }
  void failed(const Failure& failure) override { failed_(failure); }

 private:
  Handle source_;
  Done done_;
  Failed failed_;
};

/// Moves a buffer to other storage, so that views of the old one stay as they are.
class ReplaceStorage final : public StreamOperation {
 public:
  enum class Content : std::uint8_t { keep, drop };
  ReplaceStorage(Handle whole, std::shared_ptr<Storage> fresh, Content content)
      : whole_(std::move(whole)), fresh_(std::move(fresh)), content_(content) {}
  bool poll() override {
    const auto& old = whole_.allocation()->storage();
    if (content_ == Content::keep && old && whole_.size() != 0) {
      std::memcpy(fresh_->range().data(), old->range().data(), whole_.size());
    }
    whole_.allocation()->set_storage(std::move(fresh_));
    return true;
  }
  [[nodiscard]] std::span<const Handle> writes() const override { return {&whole_, 1}; }
  [[nodiscard]] bool keeps_failures() const noexcept override { return true; }

 private:
  Handle whole_;
  std::shared_ptr<Storage> fresh_;
  Content content_;
};

/// Stands for an operation that cannot run: passes the failure to it, and to what it would have written.
class RefusedOperation final : public StreamOperation {
 public:
  RefusedOperation(std::unique_ptr<StreamOperation> refused, Failure failure)
      : refused_(std::move(refused)), failure_(std::move(failure)) {}
  bool poll() override {
    // A collective takes part all the same, so that its peers are told.
    if (!accepted_ && !(accepted_ = refused_->accepts_tainted(failure_))) failure_->raise();
    return refused_->poll();
  }
  [[nodiscard]] std::span<const Handle> writes() const override { return refused_->writes(); }
  void failed(const Failure& failure) override { refused_->failed(failure); }

 private:
  std::unique_ptr<StreamOperation> refused_;
  Failure failure_;
  bool accepted_ = false;
};

}  // namespace muster::detail
