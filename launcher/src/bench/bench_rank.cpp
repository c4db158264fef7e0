#include <fmt/format.h>
#include <muster/client_group.hpp>
#include <muster/world.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bench/bench_command.hpp"
#include "bench/bench_points.hpp"
#include "bench/mpi_peer.hpp"
#include "bench/report.hpp"

namespace muster::launcher {

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration span) { return std::chrono::duration<double, std::micro>(span).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// The local members of the group, and their buffers for one point.
class GroupBench {
 public:
  GroupBench(const ClientGroup& group, const BenchPoint& point) : group_(group), point_(point) {
    for (const Client& client : group.local_clients()) {
      parts_.push_back(
          {client, group.index_of(client), client.empty(point.source_bytes()), client.empty(point.destination_bytes())});
    }
  }

  void fill(unsigned turn) {
    for (Part& part : parts_) {
      Bytes bytes(point_.source_bytes());
      point_.fill({bytes.data(), bytes.size()}, part.index, turn);
      part.client.write(part.source, std::move(bytes));
      part.client.sync();
    }
  }

  void issue() {
    const CollectiveOptions options{ComputeWait::at_once, Reproducibility::exact};
    for (Part& part : parts_) {
      const Client& client = part.client;
      const Handle &source = part.source, &destination = part.destination;
      constexpr int root = BenchPoint::root();
      switch (point_.operation()) {
        case Measured::all_reduce:
          group_.all_reduce(client, source, destination, point_.dtype(), point_.op(), options);
          break;
        case Measured::reduce:
          group_.reduce(client, source, destination, point_.dtype(), point_.op(), root, options);
          break;
        case Measured::all_gather:
          group_.all_gather(client, source, destination, options);
          break;
        case Measured::reduce_scatter:
          group_.reduce_scatter(client, source, destination, point_.dtype(), point_.op(), options);
          break;
        case Measured::broadcast:
          group_.broadcast(client, source, destination, root, options);
          break;
        case Measured::all_to_all:
          group_.all_to_all(client, source, destination, options);
          break;
      }
    }
  }

  void sync() {
    // Each device is flushed first: its part may be what another one waits for.
    if (parts_.size() > 1) {
      for (Part& part : parts_) part.client.flush();
    }
    for (Part& part : parts_) part.client.sync();
  }

  [[nodiscard]] std::size_t wrong(unsigned turn) {
    std::size_t errors = 0;
    for (Part& part : parts_) {
      if (point_.operation() == Measured::reduce && part.index != BenchPoint::root()) continue;
      const Bytes result = part.client.read(part.destination);
      errors += point_.wrong({result.data(), result.size()}, part.index, turn);
    }
    return errors;
  }

 private:
  struct Part {
    Client client;
    int index;
    Handle source, destination;
  };
  ClientGroup group_;
  BenchPoint point_;
  std::vector<Part> parts_;
};

/// Agreement of the ranks on numbers, through the group under test.
class Agreement {
 public:
  explicit Agreement(const ClientGroup& group) : group_(group), clients_(group.local_clients()) {}

  double reduce(double value, ReduceOp op) {
    std::vector<Handle> handles;
    for (const Client& client : clients_) {
      handles.push_back(client.create_from_slice<double>(std::span<const double>(&value, 1)));
      group_.all_reduce(client, handles.back(), handles.back(), Dtype::f64, op);
    }
    // Each device is flushed first: its part may be what another one waits for.
    if (clients_.size() > 1) {
      for (const Client& client : clients_) client.flush();
    }
    double result = 0;
    for (std::size_t i = 0; i < clients_.size(); ++i) result = clients_[i].read(handles[i]).as<double>()[0];
    return result;
  }
  void barrier() { reduce(0, ReduceOp::max); }

 private:
  ClientGroup group_;
  std::vector<Client> clients_;
};

/// How every pair of ranks reaches each other, a line each, told to all ranks.
std::vector<std::string> paths_of_all(const ClientGroup& group, Agreement& agreement) {
  const std::string own = fmt::format("{}\n", fmt::join(group.paths(), "\n"));
  const auto longest = static_cast<std::size_t>(agreement.reduce(static_cast<double>(own.size()), ReduceOp::max));
  const auto clients = group.local_clients();
  std::vector<Handle> all;
  for (const Client& client : clients) {
    // The first device of each rank speaks for it.
    std::vector<char> text(longest, '\0');
    if (client.device_id() == clients.front().device_id()) std::copy(own.begin(), own.end(), text.begin());
    all.push_back(client.empty(longest * static_cast<std::size_t>(group.size())));
    group.all_gather(client, client.create_from_slice<char>(std::span<const char>(text)), all.back());
  }
  if (clients.size() > 1) {
    for (const Client& client : clients) client.flush();
  }
  std::vector<std::string> lines;
  const Bytes bytes = clients.front().read(all.front());
  std::string line;
  for (const char letter : bytes.as<char>()) {
    if (letter == '\n') lines.push_back(std::exchange(line, {}));
    if (letter != '\n' && letter != '\0') line += letter;
  }
  for (const Client& client : clients) client.sync();
  return lines;
}

/// Runs of one competitor: as many operations per round as fill a few milliseconds.
template <class Fill, class Repeat>
double one_round(Agreement& agreement, unsigned turn, int repeats, Fill fill, Repeat repeat) {
  fill(turn);
  agreement.barrier();
  const auto start = Clock::now();
  repeat(repeats);
  const double own = microseconds(Clock::now() - start) / repeats;
  return agreement.reduce(own, ReduceOp::max);
}

int repeats_for(std::size_t bytes) {
  constexpr std::size_t bytes_per_round = std::size_t{4} << 20U;
  return static_cast<int>(std::clamp<std::size_t>(bytes_per_round / std::max<std::size_t>(bytes, 1), 1, 200));
}

PointResult measure(const ClientGroup& group, Agreement& agreement, const BenchPoint& point, const BenchOptions& options,
                    int rank) {
  GroupBench ours(group, point);
  std::unique_ptr<MpiPeer> mpi;
  if (std::find(options.compare.begin(), options.compare.end(), "mpi") != options.compare.end()) {
    mpi = std::make_unique<MpiPeer>(point, rank);
  }
  const int repeats = repeats_for(point.bytes());
  std::vector<double> our_times, mpi_times;
  PointResult result;
  unsigned turn = 0;
  const auto run_ours = [&](int times) {
    for (int i = 0; i < times; ++i) ours.issue();
    ours.sync();
  };
  const auto run_mpi = [&](int times) {
    for (int i = 0; i < times; ++i) mpi->run();
  };
  std::size_t mpi_errors = 0;
  // The first round warms up: connections, mappings, page tables.
  for (int round = -1; round < options.rounds; ++round) {
    ++turn;
    const double our_time = one_round(
        agreement, turn, repeats, [&](unsigned t) { ours.fill(t); }, run_ours);
    if (round >= 0) our_times.push_back(our_time);
    if (round < 1) result.errors += ours.wrong(turn);
    if (!mpi) continue;
    const double mpi_time = one_round(
        agreement, turn, repeats, [&](unsigned t) { mpi->fill(t); }, run_mpi);
    if (round >= 0) mpi_times.push_back(mpi_time);
    if (round < 1) mpi_errors += mpi->wrong(turn);
  }
  result.bytes = point.bytes();
  result.count = point.count();
  result.errors = static_cast<std::size_t>(agreement.reduce(static_cast<double>(result.errors), ReduceOp::sum));
  result.time_us = median(our_times);
  result.algbw_gbps = static_cast<double>(point.bytes()) / result.time_us / 1e3;
  result.busbw_gbps = result.algbw_gbps * point.bus_factor();
  if (mpi) {
    result.peer_time_us["mpi"] = median(mpi_times);
    result.peer_errors["mpi"] = static_cast<std::size_t>(agreement.reduce(static_cast<double>(mpi_errors), ReduceOp::sum));
  }
  return result;
}

}  // namespace

int bench_rank(const BenchOptions& options) {
  const auto dtype = dtype_of(options.dtype);
  const auto op = reduce_op_of(options.op);
  if (!dtype) throw std::invalid_argument(fmt::format("'{}' is no dtype; try f32, bf16, i32, …", options.dtype));
  if (!op || !supports(*dtype, *op)) {
    throw std::invalid_argument(
        fmt::format("'{}' is no reduction of {}; try sum, max, average, …", options.op, options.dtype));
  }
  World world = World::form();
  const ClientGroup group = world.group();
  if (!options.compare.empty() && world.size() != group.size()) {
    throw std::invalid_argument("MPI has one member per rank: --compare mpi goes with one device per rank");
  }
  Agreement agreement(group);
  agreement.barrier();
  const RunDescription run{world.size(), group.size(), world.host_count(), paths_of_all(group, agreement)};
  const bool speaks = world.rank() == RankId{0};
  if (speaks && !options.json) print_header(options, run);
  std::vector<PointResult> points;
  for (const std::size_t bytes : sizes_between(parse_size(options.min), parse_size(options.max))) {
    const BenchPoint point(measured_of(options.operation), *dtype, *op, bytes, group.size());
    if (point.bytes() == 0) continue;
    points.push_back(measure(group, agreement, point, options, world.rank().value));
    if (speaks && !options.json) print_point(options, points.back());
  }
  if (speaks && options.json) fmt::print("{}\n", as_json(options, run, points));
  world.shutdown();
  const bool wrong = std::any_of(points.begin(), points.end(), [](const PointResult& point) { return point.errors != 0; });
  return wrong ? 1 : 0;
}

}  // namespace muster::launcher
