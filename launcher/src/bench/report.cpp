#include "bench/report.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace muster::launcher {

void print_header(const BenchOptions& options, const RunDescription& run) {
  fmt::print("# muster bench {}: {} ranks on {} hosts, {} devices, {} {}\n", options.operation, run.ranks, run.hosts,
             run.devices, options.dtype, options.op);
  fmt::print("# median of {} rounds of the slowest rank; the input is rewritten before each round, out of the time\n",
             options.rounds);
  for (const std::string& path : run.paths) fmt::print("# path: {}\n", path);
  fmt::print("#\n#{:>12} {:>12} {:>8} {:>7} {:>10} {:>8} {:>8} {:>7}", "size", "count", "type", "redop", "time", "algbw",
             "busbw", "#wrong");
  for (const std::string& peer : options.compare) fmt::print(" {:>12} {:>7}", peer + " time", "ratio");
  fmt::print("\n#{:>12} {:>12} {:>8} {:>7} {:>10} {:>8} {:>8} {:>7}", "(B)", "(elements)", "", "", "(us)", "(GB/s)",
             "(GB/s)", "");
  for (std::size_t i = 0; i < options.compare.size(); ++i) fmt::print(" {:>12} {:>7}", "(us)", "");
  fmt::print("\n");
}

void print_point(const BenchOptions& options, const PointResult& point) {
  fmt::print(" {:>12} {:>12} {:>8} {:>7} {:>10.2f} {:>8.2f} {:>8.2f} {:>7}", point.bytes, point.count, options.dtype,
             options.op, point.time_us, point.algbw_gbps, point.busbw_gbps, point.errors);
  for (const std::string& peer : options.compare) {
    const double time = point.peer_time_us.at(peer);
    fmt::print(" {:>12.2f} {:>6.2f}x", time, time / point.time_us);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

std::string as_json(const BenchOptions& options, const RunDescription& run, const std::vector<PointResult>& points) {
  nlohmann::json all{{"op", options.operation}, {"ranks", run.ranks},     {"devices", run.devices}, {"hosts", run.hosts},
                     {"path", run.paths},       {"dtype", options.dtype}, {"reduction", options.op}};
  all["points"] = nlohmann::json::array();
  for (const PointResult& point : points) {
    nlohmann::json each{{"bytes", point.bytes},           {"count", point.count},           {"time_us", point.time_us},
                        {"algbw_gbps", point.algbw_gbps}, {"busbw_gbps", point.busbw_gbps}, {"errors", point.errors}};
    each["compare"] = nlohmann::json::object();
    for (const auto& [peer, time] : point.peer_time_us) {
      each["compare"][peer] = {{"time_us", time}, {"ratio", time / point.time_us}, {"errors", point.peer_errors.at(peer)}};
    }
    all["points"].push_back(std::move(each));
  }
  return all.dump(2);
}

}  // namespace muster::launcher
