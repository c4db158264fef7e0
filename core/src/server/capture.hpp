#pragma once

#include <memory>
#include <string>
#include <vector>

#include "memory/storage.hpp"
#include "muster/device_work.hpp"

namespace muster::detail {

/// The operations that a stream recorded. Changed while it records only; runs of it follow one another in that stream.
struct GraphBody {
  std::vector<std::unique_ptr<StreamOperation>> operations;
  std::vector<Handle> reads, writes;      // of all of them, each allocation once
  std::vector<StreamId> ordered_streams;  // whose work must not overtake a run, nor be overtaken
  bool waits_for_peers = false;
};

/// What a stream keeps while it prepares or records a graph. Used by the actor only.
class Capture {
 public:
  enum class Stage : std::uint8_t {
    idle,
    preparing,  ///< the warm-up run: what it drops stays, so that as much is reserved as recording takes
    recording,
  };
  [[nodiscard]] Stage stage() const noexcept { return stage_; }
  void prepare() noexcept { stage_ = Stage::preparing; }
  void keep(std::shared_ptr<Storage> storage) { kept_.push_back(std::move(storage)); }
  void start();
  /// Adds an operation, and returns null. One that cannot be run again fails the capture, and comes back as one that fails
  /// in its place in the stream.
  std::unique_ptr<StreamOperation> record(std::unique_ptr<StreamOperation> operation);
  /// The capture cannot be used; the first reason stands.
  void fail(const Failure& failure);
  /// Ends it. Throws the reason why it cannot be used.
  std::shared_ptr<GraphBody> stop();

 private:
  void note(std::vector<Handle>& known, std::span<const Handle> used);

  Stage stage_ = Stage::idle;
  std::vector<std::shared_ptr<Storage>> kept_;
  std::shared_ptr<GraphBody> body_;
  Failure failure_;
};

/// One replay of a graph: its operations one after the other.
class GraphRun final : public StreamOperation {
 public:
  /// On the actor: operations that are issued anew for each run are made now.
  GraphRun(std::shared_ptr<const GraphBody> body, DeviceContext& device);
  bool poll() override;
  [[nodiscard]] std::span<const Handle> reads() const override { return body_->reads; }
  [[nodiscard]] std::span<const Handle> writes() const override { return body_->writes; }
  [[nodiscard]] bool computes() const override { return true; }
  // Failures are those of the operations inside.
  [[nodiscard]] bool keeps_failures() const noexcept override { return true; }
  void failed(const Failure& failure) override;

 private:
  [[nodiscard]] StreamOperation& operation_at(std::size_t index) const {
    return issued_.empty() || !issued_[index] ? *body_->operations[index] : *issued_[index];
  }
  std::shared_ptr<const GraphBody> body_;
  std::vector<std::unique_ptr<StreamOperation>> issued_;  // by position; null: the recorded one runs
  std::size_t at_ = 0;
  bool started_ = false;
};

}  // namespace muster::detail
