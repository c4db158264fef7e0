#include "bench/bench_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <stdexcept>

#include "run_command.hpp"

namespace muster::launcher {

std::size_t parse_size(const std::string& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  if (unit.size() > 1 && (unit.back() == 'B' || unit.back() == 'b')) unit.pop_back();
  int shift = -1;
  if (unit.empty()) shift = 0;
  if (unit == "K" || unit == "k" || unit == "Ki") shift = 10;
  if (unit == "M" || unit == "Mi") shift = 20;
  if (unit == "G" || unit == "Gi") shift = 30;
  if (error != std::errc() || shift < 0 || number > (~std::size_t{0} >> shift)) {
    throw std::invalid_argument(fmt::format("'{}' is no size: write bytes, or a number with K, M or G, as in 256M", text));
  }
  return number << shift;
}

void add_launch_options(CLI::App& app, LaunchSpec& spec) {
  app.add_option("-n,--ranks", spec.ranks, "number of ranks; one per slot of --hosts by default")
      ->check(CLI::PositiveNumber);
  app.add_option("--devices-per-rank", spec.devices_per_rank, "host devices of each rank")->check(CLI::PositiveNumber);
  app.add_option("--hosts", spec.hosts, "hosts with their ranks, as in a:2,b:2");
  app.add_option("--agent", spec.agent, "command that runs something on a host instead of ssh: AGENT HOST COMMAND …")
      ->envname("MUSTER_LAUNCH_AGENT");
}

void add_bench_options(CLI::App& app, BenchOptions& options) {
  app.add_option("operation", options.operation, "what to measure")
      ->check(CLI::IsMember({"all_reduce", "reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"}))
      ->capture_default_str();
  app.add_option("--min", options.min, "smallest size in bytes")->capture_default_str();
  app.add_option("--max", options.max, "largest size in bytes")->capture_default_str();
  app.add_option("--dtype", options.dtype, "element type")->capture_default_str();
  app.add_option("--op", options.op, "reduction")->capture_default_str();
  app.add_option("--compare", options.compare, "measure others in turns")->delimiter(',')->check(CLI::IsMember({"mpi"}));
  app.add_option("--rounds", options.rounds, "measurements per point; the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--json", options.json, "print one JSON object");
}

int bench_command(LaunchSpec spec, const BenchOptions& options, const std::string& self) {
  parse_size(options.min);
  parse_size(options.max);
  if (spec.ranks == 0 && spec.hosts.empty()) spec.ranks = 2;
  std::error_code ignored;
  const auto own_path = std::filesystem::read_symlink("/proc/self/exe", ignored);
  spec.program = {ignored ? self : own_path.string(),
                  "bench-rank",
                  options.operation,
                  "--min",
                  options.min,
                  "--max",
                  options.max,
                  "--dtype",
                  options.dtype,
                  "--op",
                  options.op,
                  "--rounds",
                  std::to_string(options.rounds)};
  if (!options.compare.empty()) {
    spec.program.push_back("--compare");
    spec.program.push_back(fmt::format("{}", fmt::join(options.compare, ",")));
  }
  if (options.json) spec.program.push_back("--json");
  return run_command(spec, OutputTags::none);
}

}  // namespace muster::launcher
