#include "driver/host/host_stream.hpp"

#include "server/run_operation.hpp"

namespace muster::detail {

std::uint64_t HostStream::enqueue(std::unique_ptr<StreamOperation> operation) { return queue_.push(std::move(operation)); }

void HostStream::pop() noexcept {
  queue_.pop();
  head_started_ = false;
  bell_.ring();
}

/// Opens or closes a window of the stream that it stands in.
class HostStream::WindowEdgeOperation final : public StreamOperation {
 public:
  WindowEdgeOperation(HostStream& stream, std::shared_ptr<ProfileWindow> window, WindowEdge edge)
      : stream_(stream), window_(std::move(window)), edge_(edge) {}
  bool poll() override {
    if (edge_ == WindowEdge::begin) {
      stream_.windows_.push_back(window_);
      return true;
    }
    std::erase(stream_.windows_, window_);
    if (edge_ == WindowEdge::end) window_->finish();
    return true;
  }
  [[nodiscard]] bool is_work() const noexcept override { return false; }
  void failed(const Failure& failure) override {
    if (edge_ == WindowEdge::end) window_->fail(failure);
  }

 private:
  HostStream& stream_;
  std::shared_ptr<ProfileWindow> window_;
  WindowEdge edge_;
};

std::unique_ptr<StreamOperation> HostStream::make_window_edge(std::shared_ptr<ProfileWindow> window, WindowEdge edge) {
  return std::make_unique<WindowEdgeOperation>(*this, std::move(window), edge);
}

bool HostStream::step(Actor& actor, StreamOperation& operation) {
  const bool started = std::exchange(head_started_, true);
  const bool timed = !windows_.empty() && operation.is_work();
  if (timed && !started) head_start_ = ProfileWindow::Clock::now();
  const Actor::Inside inside(actor, operation.computes());
  if (!run_step(operation, started)) return false;
  if (timed) {
    const auto end = ProfileWindow::Clock::now();
    for (const auto& window : windows_) window->note(head_start_, end);
  }
  return true;
}

bool HostStream::run_some(Actor& actor, Kernels kernels) {
  if (empty() || claimed_.exchange(true, std::memory_order_acquire)) return false;
  bool moved = false;
  while (StreamOperation* operation = queue_.front()) {
    if (kernels == Kernels::leave && operation->computes()) {
      actor.wake_background();
      break;
    }
    if (!step(actor, *operation)) break;
    pop();
    moved = true;
  }
  claimed_.store(false, std::memory_order_release);
  return moved;
}

void HostStream::abandon(const Failure& failure) {
  while (claimed_.exchange(true, std::memory_order_acquire)) {
  }
  while (StreamOperation* operation = queue_.front()) {
    end_with(*operation, failure);
    pop();
  }
  claimed_.store(false, std::memory_order_release);
}

HostStream& HostStreamSet::add(StreamId id, Doorbell& bell) {
  HostStream& stream = owned_.emplace_back(id, bell);
  const std::size_t index = count_.load(std::memory_order_relaxed);
  if (index != 0 && index % chunk == 0) {
    Block& last = blocks_.back();
    last.next.store(&blocks_.emplace_back(), std::memory_order_release);
  }
  blocks_.back().streams[index % chunk].store(&stream, std::memory_order_release);
  count_.store(index + 1, std::memory_order_seq_cst);
  return stream;
}

template <class Visit>
void HostStreamSet::for_each(Visit&& visit) const {
  std::size_t left = count_.load(std::memory_order_seq_cst);
  for (const Block* block = &blocks_.front(); left != 0; block = block->next.load(std::memory_order_acquire)) {
    for (std::size_t i = 0; i < chunk && left != 0; ++i, --left) {
      if (!visit(*block->streams[i].load(std::memory_order_acquire))) return;
    }
  }
}

bool HostStreamSet::run_some() {
  bool moved = false;
  const bool background = actor_->is_background_thread();
  const StreamId own = StreamId::of_this_thread();
  for_each([&](HostStream& stream) {
    const bool kernels = background || stream.id() == own;
    moved |= stream.run_some(*actor_, kernels ? HostStream::Kernels::run : HostStream::Kernels::leave);
    return true;
  });
  return moved;
}

bool HostStreamSet::pending() const {
  bool found = false;
  for_each([&](const HostStream& stream) {
    found = !stream.empty();
    return !found;
  });
  return found;
}

void HostStreamSet::abandon(const Failure& failure) {
  for_each([&](HostStream& stream) {
    stream.abandon(failure);
    return true;
  });
}

}  // namespace muster::detail
