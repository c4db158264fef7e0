#include <array>
#include <cstring>
#include <deque>
#include <limits>

#include "schedule/rank_runs.hpp"
#include "schedule/shard.hpp"
#include "transport/cross_host/lane.hpp"
#include "transport/host/host_collective.hpp"

namespace muster::detail {

namespace {

using Buffer = LocalPhase::Buffer;
constexpr std::size_t window = 4;  // segments in flight per run
constexpr int all_hosts = -1;

/// A segment of the vector that this lane reduces.
struct Piece {
  std::size_t begin = 0;  ///< element of the source
  std::size_t count = 0;
  int host = all_hosts;         ///< that needs the result
  std::byte* result = nullptr;  ///< where it goes on this host, if it is needed here
};

/// Whether the order of the members shows in the result.
bool order_matters(const CollectiveCall& call) {
  if (call.reproducibility == Reproducibility::fast || !is_float(static_cast<Dtype>(call.fingerprint.dtype))) return false;
  const auto op = static_cast<ReduceOp>(call.fingerprint.op);
  return op == ReduceOp::sum || op == ReduceOp::product || op == ReduceOp::average;
}

class OrderedReduction {
 public:
  explicit OrderedReduction(LanePart& part)
      : part_(part),
        call_(part.call),
        element_(part.call.element()),
        grain_(shard_grain(part.call)),
        runs_(order_matters(part.call) ? rank_runs(part.shape.host_of_member()) : host_runs(part.shape.host_of_member())),
        chain_(return_chain(runs_)) {}

  Progress run();

 private:
  [[nodiscard]] Shard shard(std::size_t count, int lane) const {
    return shard_of(count, static_cast<std::size_t>(part_.shape.lanes), static_cast<std::size_t>(lane), grain_);
  }
  [[nodiscard]] std::size_t block_count() const { return call_.block() / element_; }
  void make_pieces();
  void add_pieces(std::size_t begin, std::size_t count, int host, std::byte* result);
  Progress forward(std::size_t run);
  Progress backward();
  Progress share();
  Progress serve_lane();
  void reduce_members(const RankRun& run, bool first, const Piece& piece, std::byte* accumulator) const;
  /// A shard's place in the scratch of a lane of a reduce_scatter.
  [[nodiscard]] std::size_t owner_stride() const { return call_.block() / part_.shape.lanes + 256; }

  LanePart& part_;
  const CollectiveCall& call_;
  std::size_t element_, grain_;
  std::vector<RankRun> runs_;
  std::vector<int> chain_;
  std::vector<Piece> pieces_;
  std::vector<std::byte*> sources_;  // by member; those of this host
};

void OrderedReduction::add_pieces(std::size_t begin, std::size_t count, int host, std::byte* result) {
  const std::size_t segment = segment_bytes / element_;
  for (std::size_t at = 0; at < count; at += segment) {
    const std::size_t now = std::min(segment, count - at);
    pieces_.push_back({begin + at, now, host, result ? result + at * element_ : nullptr});
  }
}

void OrderedReduction::make_pieces() {
  const std::size_t count = block_count();
  const Shard own = shard(count, part_.lane);
  switch (call_.operation()) {
    case Operation::all_reduce:
      add_pieces(own.begin, own.count, all_hosts, call_.destination_data + own.begin * element_);
      break;
    case Operation::reduce: {
      const int root_host = part_.shape.members[call_.root()].host;
      std::byte* result = nullptr;
      if (part_.me == call_.root())
        result = call_.destination_data + own.begin * element_;
      else if (part_.host == root_host)
        result = call_.scratch_data;
      add_pieces(own.begin, own.count, root_host, result);
      break;
    }
    default: {  // reduce_scatter: this lane's shard of every member's block
      for (int member = 0; member < part_.shape.size(); ++member) {
        const auto& owner = part_.shape.members[member];
        std::byte* result = nullptr;
        if (member == part_.me)
          result = call_.destination_data + own.begin * element_;
        else if (owner.host == part_.host)
          result = call_.scratch_data + owner.local_index * owner_stride();
        add_pieces(static_cast<std::size_t>(member) * count + own.begin, own.count, owner.host, result);
      }
    }
  }
}

void OrderedReduction::reduce_members(const RankRun& run, bool first, const Piece& piece, std::byte* accumulator) const {
  const Reducer& reducer = call_.reducer();
  for (const int member : run.members) {
    const std::byte* source = sources_[member] + piece.begin * element_;
    if (first) {
      reducer.load(accumulator, source, piece.count);
    } else {
      reducer.add(accumulator, source, piece.count);
    }
    first = false;
  }
}

// One run's part: take the partial result of the run before, add the members of this run, pass it on; the last run
// finishes it.
Progress OrderedReduction::forward(std::size_t index) {
  const Reducer& reducer = call_.reducer();
  const RankRun& run = runs_[index];
  const bool first = index == 0, last = index + 1 == runs_.size();
  const std::size_t slot_bytes = segment_bytes / element_ * reducer.accumulator_size;
  std::vector<std::byte> accumulators(window * slot_bytes), finished(last ? window * segment_bytes : 0);
  std::array<ucx::Request, window> sends, receives;
  const int before = first ? -1 : part_.partner(runs_[index - 1].host);
  const auto slot = [&](std::size_t i) { return accumulators.data() + i % window * slot_bytes; };
  std::size_t asked = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    // Receive ahead, as far as slots are free.
    for (; !first && asked < pieces_.size() && asked < i + window; ++asked) {
      ucx::Request& held = sends[asked % window];
      if (held.valid()) {
        if (asked > i && !held.done()) break;
        co_await until([&held] { return held.done(); });
        held = ucx::Request();
      }
      receives[asked % window] = part_.receive(before, ucx::Channel::forward, static_cast<std::uint32_t>(index),
                                               slot(asked), pieces_[asked].count * reducer.accumulator_size);
    }
    ucx::Request& received = receives[i % window];
    ucx::Request& sent = sends[i % window];
    if (!first) {
      co_await until([&received] { return received.done(); });
      received = ucx::Request();
    } else if (sent.valid()) {
      co_await until([&sent] { return sent.done(); });
      sent = ucx::Request();
    }
    const Piece& piece = pieces_[i];
    reduce_members(run, first, piece, slot(i));
    if (!last) {
      sent = part_.send(part_.partner(runs_[index + 1].host), ucx::Channel::forward, static_cast<std::uint32_t>(index + 1),
                        slot(i), piece.count * reducer.accumulator_size);
      continue;
    }
    std::byte* result = piece.result;
    if (!result) result = finished.data() + i % window * segment_bytes;
    reducer.finish(result, slot(i), piece.count, static_cast<std::size_t>(part_.shape.size()));
    const int to = piece.host == all_hosts ? (chain_.size() > 1 ? chain_[1] : part_.host) : piece.host;
    if (to != part_.host) {
      sent = part_.send(part_.partner(to), ucx::Channel::backward, 0, result, piece.count * element_);
    }
  }
  for (ucx::Request& sent : sends) {
    if (sent.valid()) co_await until([&sent] { return sent.done(); });
  }
}

// The results that this host needs and did not finish itself, each passed on where the next host needs it too.
Progress OrderedReduction::backward() {
  const auto place = static_cast<std::size_t>(std::find(chain_.begin(), chain_.end(), part_.host) - chain_.begin());
  if (place == 0) co_return;
  std::vector<const Piece*> wanted;
  for (const Piece& piece : pieces_) {
    if (piece.host == all_hosts || piece.host == part_.host) wanted.push_back(&piece);
  }
  std::deque<ucx::Request> receives, sends;
  std::size_t asked = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (; asked < wanted.size() && asked < i + window; ++asked) {
      const Piece& piece = *wanted[asked];
      const int from = part_.partner(piece.host == all_hosts ? chain_[place - 1] : chain_.front());
      receives.push_back(part_.receive(from, ucx::Channel::backward, 0, piece.result, piece.count * element_));
    }
    ucx::Request& received = receives.front();
    co_await until([&received] { return received.done(); });
    receives.pop_front();
    const Piece& piece = *wanted[i];
    if (piece.host == all_hosts && place + 1 < chain_.size()) {
      sends.push_back(
          part_.send(part_.partner(chain_[place + 1]), ucx::Channel::backward, 0, piece.result, piece.count * element_));
    }
    while (sends.size() > window) {
      ucx::Request& sent = sends.front();
      co_await until([&sent] { return sent.done(); });
      sends.pop_front();
    }
  }
  while (!sends.empty()) {
    ucx::Request& sent = sends.front();
    co_await until([&sent] { return sent.done(); });
    sends.pop_front();
  }
}

Progress OrderedReduction::serve_lane() {
  sources_.resize(part_.shape.members.size());
  for (const int member : part_.phase.members()) {
    co_await until([this, member] { return (sources_[member] = part_.phase.find(member, Buffer::source)) != nullptr; });
  }
  make_pieces();
  // All runs of this host and the way back move at the same time: a pipeline stands still where one of them waits.
  std::deque<Progress> stages;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (runs_[run].host == part_.host) stages.push_back(forward(run));
  }
  stages.push_back(backward());
  co_await until([&stages] {
    std::erase_if(stages, [](Progress& stage) { return stage.poll(); });
    return stages.empty();
  });
}

// Within the host: take from the lanes what they brought.
Progress OrderedReduction::share() {
  const int lanes = part_.shape.lanes;
  const std::size_t count = block_count();
  const bool takes = call_.operation() != Operation::reduce || part_.me == call_.root();
  for (int lane = 0; takes && lane < lanes; ++lane) {
    if (lane == part_.lane) continue;
    const int server = part_.shape.lane_member(part_.host, lane);
    const Buffer buffer = call_.operation() == Operation::all_reduce ? Buffer::destination : Buffer::scratch;
    co_await until([this, server] { return part_.phase.reached(server, 1); });
    std::byte* found = nullptr;
    co_await until([&] { return (found = part_.phase.find(server, buffer)) != nullptr; });
    const Shard part = shard(count, lane);
    if (call_.operation() == Operation::all_reduce) found += part.begin * element_;
    if (call_.operation() == Operation::reduce_scatter) found += part_.communicator.local_index * owner_stride();
    if (part.count != 0) std::memcpy(call_.destination_data + part.begin * element_, found, part.count * element_);
  }
  part_.phase.reach(2);
  co_await until([this] { return part_.phase.all_reached(2); });
}

Progress OrderedReduction::run() {
  if (part_.lane >= 0) {
    co_await serve_lane();
    part_.phase.reach(1);
  }
  // Sources are read by the lanes: nobody leaves before all lanes are done.
  co_await share();
}

}  // namespace

Progress ordered_reduction(LanePart& part) {
  OrderedReduction reduction(part);
  co_await reduction.run();
}

}  // namespace muster::detail
