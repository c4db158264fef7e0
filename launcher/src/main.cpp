// The `muster` command.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "bench/bench_command.hpp"
#include "run_command.hpp"

int main(int argc, char** argv) {
  using namespace muster::launcher;
  CLI::App app("muster: device actors and collectives across the ranks of a job");
  app.set_version_flag("--version", MUSTER_VERSION);
  app.require_subcommand(1);
  int status = 0;

  LaunchSpec spec;
  auto* run = app.add_subcommand("run", "start a program on several ranks, and show what each prints");
  run->footer("Examples:\n  muster run -n 4 ./train\n  muster run --hosts a:2,b:2 --devices-per-rank 2 ./train --epochs 3");
  run->prefix_command();
  add_launch_options(*run, spec);
  run->callback([&] {
    spec.program = run->remaining();
    if (!spec.program.empty() && spec.program.front() == "--") spec.program.erase(spec.program.begin());
    if (spec.program.empty())
      throw CLI::ValidationError("PROGRAM", "name the program to start, as in: muster run -n 4 ./train");
    status = run_command(spec, OutputTags::per_rank);
  });

  BenchOptions bench_options;
  auto* bench = app.add_subcommand("bench", "measure a collective, beside others if asked");
  add_launch_options(*bench, spec);
  add_bench_options(*bench, bench_options);
  bench->callback([&] { status = bench_command(spec, bench_options, argv[0]); });

  auto* bench_rank_command = app.add_subcommand("bench-rank", "one rank of bench; started by it")->group("");
  add_bench_options(*bench_rank_command, bench_options);
  bench_rank_command->callback([&] { status = bench_rank(bench_options); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "muster: {}\n", error.what());
    return 1;
  }
  return status;
}
