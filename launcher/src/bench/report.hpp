#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/bench_command.hpp"

namespace muster::launcher {

/// One line of a benchmark: medians over the rounds, of the slowest rank in each.
struct PointResult {
  std::size_t bytes = 0, count = 0, errors = 0;
  double time_us = 0, algbw_gbps = 0, busbw_gbps = 0;
  std::map<std::string, double> peer_time_us;
  std::map<std::string, std::size_t> peer_errors;
};

/// What the whole run was.
struct RunDescription {
  int ranks = 0, devices = 0, hosts = 0;
  std::vector<std::string> paths;
};

/// Columns as nccl-tests has them, so that its readers work; peers follow.
void print_header(const BenchOptions& options, const RunDescription& run);
void print_point(const BenchOptions& options, const PointResult& point);
std::string as_json(const BenchOptions& options, const RunDescription& run, const std::vector<PointResult>& points);

}  // namespace muster::launcher
