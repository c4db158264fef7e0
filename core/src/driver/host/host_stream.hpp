#pragma once

#include <array>
#include <atomic>
#include <deque>

#include "driver/driver.hpp"
#include "driver/host/operation_queue.hpp"

namespace muster::detail {

/// A queue of operations that whoever waits helps to run. One thread at a time runs it.
class HostStream final : public DriverStream {
 public:
  HostStream(StreamId id, Doorbell& bell) : id_(id), bell_(bell) {}

  std::uint64_t enqueue(std::unique_ptr<StreamOperation> operation) override;
  [[nodiscard]] std::uint64_t last_ticket() const noexcept override { return queue_.pushed(); }
  [[nodiscard]] const std::atomic<std::uint64_t>* done_count() const noexcept override { return queue_.popped_count(); }
  [[nodiscard]] bool reached(std::uint64_t ticket) const noexcept override { return queue_.popped() >= ticket; }
  std::unique_ptr<StreamOperation> make_window_edge(std::shared_ptr<ProfileWindow> window, WindowEdge edge) override;
  [[nodiscard]] bool empty() const noexcept { return queue_.popped() == queue_.pushed(); }

  [[nodiscard]] StreamId id() const noexcept { return id_; }

  /// Whether the calling thread may run what computes for long. A thread that waits for one thing must not be caught in
  /// another's kernel: it runs those of its own stream, and leaves the rest to the background thread.
  enum class Kernels : std::uint8_t { run, leave };
  /// Runs operations until one cannot go on, is left, or another thread runs this stream. Whether any was ended.
  bool run_some(Actor& actor, Kernels kernels);
  /// Ends all that is queued with `failure`, after the operation that runs now.
  void abandon(const Failure& failure);

 private:
  class WindowEdgeOperation;
  void pop() noexcept;
  /// One step of the oldest operation; true when it is over.
  bool step(Actor& actor, StreamOperation& operation);

  StreamId id_;
  Doorbell& bell_;
  OperationQueue queue_;
  // For the thread that has claimed the stream:
  bool head_started_ = false;
  std::vector<std::shared_ptr<ProfileWindow>> windows_;  // that are open
  ProfileWindow::Clock::time_point head_start_;          // while any is

  std::atomic<bool> claimed_{false};
};

/// The streams of one device, as side work of its actor. Streams are added, never removed.
class HostStreamSet final : public SideWork {
 public:
  void attach(Actor& actor) noexcept { actor_ = &actor; }
  HostStream& add(StreamId id, Doorbell& bell);
  bool run_some() override;
  [[nodiscard]] bool pending() const override;
  void abandon(const Failure& failure);

 private:
  static constexpr std::size_t chunk = 64;
  /// Streams by position, in blocks that never move, so that readers need no lock.
  struct Block {
    std::array<std::atomic<HostStream*>, chunk> streams{};
    std::atomic<Block*> next{nullptr};
  };
  template <class Visit>
  void for_each(Visit&& visit) const;

  Actor* actor_ = nullptr;
  std::deque<HostStream> owned_;
  std::deque<Block> blocks_ = std::deque<Block>(1);
  std::atomic<std::size_t> count_{0};
};

}  // namespace muster::detail
