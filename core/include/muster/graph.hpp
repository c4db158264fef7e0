#pragma once

#include <cstddef>
#include <memory>

namespace muster {

namespace detail {
class RecordedGraph;
}

/// A recorded sequence of work, replayed as one. Cheap to copy; the last copy dropped ends it, after its replays are done.
class Graph {
 public:
  explicit Graph(std::shared_ptr<const detail::RecordedGraph> recorded) : recorded_(std::move(recorded)) {}

  /// Enqueues all of it on the stream that recorded it. Buffers stay where they were: refresh inputs with Client::write on
  /// that stream between replays. Collectives in it are issued anew, in order with the others of their group, so all
  /// members replay in one order. Throws DeviceClosed, and UsageError while that stream records.
  void replay() const;
  /// Operations that it holds.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  std::shared_ptr<const detail::RecordedGraph> recorded_;
};

}  // namespace muster
