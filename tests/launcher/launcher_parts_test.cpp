#include <gtest/gtest.h>

#include <algorithm>

#include "bench/bench_points.hpp"
#include "mpirun_command.hpp"
#include "output_relay.hpp"

namespace muster::launcher {
namespace {

bool holds(const std::vector<std::string>& command, std::initializer_list<std::string> words) {
  return std::search(command.begin(), command.end(), words.begin(), words.end()) != command.end();
}

TEST(MpirunCommand, TakesOneRankPerSlotOfTheHosts) {
  LaunchSpec spec;
  spec.hosts = "a:2,b:3,c";
  spec.program = {"./train", "--epochs", "3"};
  const auto command = mpirun_command(spec, OutputTags::per_rank, {}, false);
  EXPECT_TRUE(holds(command, {"-n", "6"}));
  EXPECT_TRUE(holds(command, {"--host", "a:2,b:3,c"}));
  EXPECT_TRUE(holds(command, {"--bind-to", "none"}));
  EXPECT_FALSE(holds(command, {"--allow-run-as-root"}));
  EXPECT_TRUE(holds(command, {"./train", "--epochs", "3"}));
}

TEST(MpirunCommand, PassesWhatMusterReadsToOtherHosts) {
  LaunchSpec spec;
  spec.ranks = 2;
  spec.devices_per_rank = 3;
  spec.agent = "agent.sh";
  spec.hosts = "a,b";
  const auto command =
      mpirun_command(spec, OutputTags::none, {"MUSTER_TIMEOUT=3", "HOME=/x", "MUSTER_DEVICES_PER_RANK=9"}, true);
  EXPECT_TRUE(holds(command, {"-x", "MUSTER_TIMEOUT"}));
  EXPECT_TRUE(holds(command, {"-x", "MUSTER_DEVICES_PER_RANK=3"}));
  EXPECT_FALSE(holds(command, {"-x", "HOME"}));
  EXPECT_TRUE(holds(command, {"plm_rsh_agent", "agent.sh"}));
  EXPECT_TRUE(holds(command, {"--allow-run-as-root"}));
}

TEST(MpirunCommand, RefusesHostsThatCannotBeRead) {
  for (const char* hosts : {"a:", "a:0", "a:x", ":2", "a,,b", "a:2x"})
    EXPECT_THROW(slots_of(hosts), std::invalid_argument) << hosts;
}

TEST(OutputRelay, PutsTheRankInFront) {
  EXPECT_EQ(OutputRelay::present("[1,12]<stdout>:hello: world", OutputRelay::Colour::off), "12| hello: world");
  EXPECT_EQ(OutputRelay::present("[1,0]<stderr>:", OutputRelay::Colour::off), "0| ");
  for (const char* line : {"", "[", "mpirun: [1,2] text", "[1,x]<stdout>:text", "[1,2]<std"}) {
    EXPECT_EQ(OutputRelay::present(line, OutputRelay::Colour::off), line);
  }
}

TEST(BenchPoints, AResultThatIsWrongIsCounted) {
  for (const auto operation : {Measured::all_reduce, Measured::all_gather, Measured::reduce_scatter, Measured::broadcast,
                               Measured::all_to_all, Measured::reduce}) {
    for (const Dtype dtype : all_dtypes) {
      constexpr int members = 3;
      const BenchPoint point(operation, dtype, ReduceOp::max, 240, members);
      std::vector<std::vector<std::byte>> sources(members, std::vector<std::byte>(point.source_bytes()));
      for (int member = 0; member < members; ++member) point.fill(sources[member], member, 5);
      std::vector<std::byte> garbage(point.destination_bytes(), std::byte{0x55});
      EXPECT_EQ(point.wrong(garbage, 0, 5), garbage.size() / size_of(dtype)) << name(dtype);
      EXPECT_TRUE(operation != Measured::broadcast || point.wrong(sources[0], 1, 5) == 0U);
    }
  }
}

TEST(BenchPoints, SizesDoubleUpToTheLargest) {
  EXPECT_EQ(sizes_between(8, 64), (std::vector<std::size_t>{8, 16, 32, 64}));
  EXPECT_EQ(sizes_between(8, 63), (std::vector<std::size_t>{8, 16, 32}));
  EXPECT_TRUE(sizes_between(8, 7).empty());
}

}  // namespace
}  // namespace muster::launcher
