#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launch_spec.hpp"

namespace CLI {
class App;
}

namespace muster::launcher {

/// What to measure. A plain value: the launching process and the ranks read the same options.
struct BenchOptions {
  std::string operation = "all_reduce";
  std::string min = "8", max = "256M";
  std::string dtype = "f32";
  std::string op = "sum";
  std::vector<std::string> compare;
  bool json = false;
  int rounds = 7;
};

void add_launch_options(CLI::App& app, LaunchSpec& spec);
void add_bench_options(CLI::App& app, BenchOptions& options);

/// Starts the ranks of a benchmark. `self` is this program.
int bench_command(LaunchSpec spec, const BenchOptions& options, const std::string& self);
/// One rank of it.
int bench_rank(const BenchOptions& options);

/// `256M` in bytes: a number with K, M or G for powers of 1024. Throws std::invalid_argument.
std::size_t parse_size(const std::string& text);

}  // namespace muster::launcher
