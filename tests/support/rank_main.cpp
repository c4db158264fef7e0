// main() of the multi-rank tests: every rank runs every test, as one SPMD function. Rank 0 reports; another rank reports
// only what fails, with its rank. Usage: program [--devices=N] [GoogleTest flags].

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "support/world_environment.hpp"

namespace muster::test {

namespace {
std::optional<World> the_world;

/// Prints failures only, each with the rank.
class FailuresOfRank : public testing::EmptyTestEventListener {
 public:
  explicit FailuresOfRank(RankId rank) : rank_(rank.value) {}
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank_, result.file_name() ? result.file_name() : "?", result.line_number(),
                 result.message());
  }

 private:
  int rank_;
};
}  // namespace

World& world() { return *the_world; }

}  // namespace muster::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  muster::WorldOptions options;
  for (int i = 1; i < argc; ++i) {
    constexpr std::string_view devices = "--devices=";
    const std::string_view argument(argv[i]);
    if (argument.rfind(devices, 0) == 0) options.devices_per_rank = std::atoi(argv[i] + devices.size());
  }
  int status = 1;
  try {
    muster::test::the_world.emplace(muster::World::form(options));
    const auto rank = muster::test::world().rank();
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    if (rank.value != 0) {
      delete listeners.Release(listeners.default_result_printer());
      listeners.Append(new muster::test::FailuresOfRank(rank));
    }
    status = RUN_ALL_TESTS();
    muster::test::world().shutdown(muster::Deadline::after(std::chrono::seconds(20)));
    muster::test::the_world.reset();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "this rank ends: %s\n", error.what());
  }
  return status;
}
