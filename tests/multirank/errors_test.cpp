// Ranks that do not issue the same: every rank is told within a second, and the message names both sides.

#include <gtest/gtest.h>

#include <muster/client_group.hpp>

#include <chrono>
#include <random>

#include "support/world_environment.hpp"

namespace muster::test {
namespace {

using namespace std::chrono_literals;

/// A group that no other test has broken: another permutation of the devices each time, the same on all ranks.
ClientGroup fresh_group() {
  static std::mt19937 same_on_all_ranks(5);
  static std::vector<std::vector<DeviceId>> used;
  auto devices = world().all_devices();
  // With few devices there are few permutations; a repeated one would be a broken group.
  for (;;) {
    std::shuffle(devices.begin(), devices.end(), same_on_all_ranks);
    if (std::find(used.begin(), used.end(), devices) == used.end()) break;
    if (used.size() >= 2 && devices.size() <= 2) throw std::logic_error("no group is left");
  }
  used.push_back(devices);
  return world().group(devices);
}

/// The message that a read of `result` fails with, which must come within a second.
template <class Expected>
std::string message_of(const Client& client, const Handle& result) {
  const auto start = std::chrono::steady_clock::now();
  std::string message;
  try {
    const Bytes bytes = client.read(result);
    ADD_FAILURE() << "nothing was reported";
  } catch (const Expected& error) {
    message = error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error came: " << error.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
  return message;
}

class Mismatch : public testing::Test {
 protected:
  Client client_ = world().clients().front();
  int odd_ = world().size() - 1;  // the rank that does something else
  bool is_odd_ = world().rank().value == odd_;

  void expect_named(const std::string& message, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(message.find(part), std::string::npos) << message << " lacks " << part;
    EXPECT_NE(message.find("rank " + std::to_string(odd_)), std::string::npos) << message;
    EXPECT_NE(message.find("operation "), std::string::npos) << message;
  }
};

/// All cases run in one group each; two ranks have two permutations only, so they take turns in one test per program run.
enum class Case { operation, count, dtype, op, root, large_count };

void PrintTo(Case each, std::ostream* out) { *out << static_cast<int>(each); }

class MismatchOf : public Mismatch, public testing::WithParamInterface<Case> {};

TEST_P(MismatchOf, IsToldToEveryRankWithBothSides) {
  const std::vector<DeviceId> all = world().all_devices();
  // A list of its own per case: the ranks' devices in another order, made longer by the second device where there is one.
  std::vector<DeviceId> devices = all;
  std::rotate(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(GetParam()) % static_cast<std::ptrdiff_t>(devices.size()), devices.end());
  if (static_cast<std::size_t>(GetParam()) >= devices.size()) std::reverse(devices.begin(), devices.end());
  const ClientGroup group = world().group(devices);
  if (group.broken()) GTEST_SKIP() << "with " << devices.size() << " devices there are fewer groups than cases";
  const Handle warm = client_.create_from_slice<float>(std::vector<float>(4, 1.0F));
  group.all_reduce(client_, warm, warm, Dtype::f32, ReduceOp::sum);
  client_.sync();

  const Handle small = client_.create_from_slice<float>(std::vector<float>(16, 1.0F)), result = client_.empty(64);
  const Handle large = client_.empty(std::size_t{4} << 20U);
  switch (GetParam()) {
    case Case::operation:
      if (is_odd_) {
        group.broadcast(client_, small, result, group.index_of(client_));
      } else {
        group.all_reduce(client_, small, result, Dtype::f32, ReduceOp::sum);
      }
      expect_named(message_of<CollectiveMismatch>(client_, result), {"broadcast", "all_reduce", "operation 2"});
      break;
    case Case::count: {
      const Handle part = small.slice(0, 60);
      const Handle target = is_odd_ ? result.slice(0, 60) : result;
      group.all_reduce(client_, is_odd_ ? part : small, target, Dtype::f32, ReduceOp::sum);
      expect_named(message_of<CollectiveMismatch>(client_, target), {"60 bytes", "64 bytes", "operation 2"});
      break;
    }
    case Case::dtype:
      group.all_reduce(client_, small, result, is_odd_ ? Dtype::i32 : Dtype::f32, ReduceOp::sum);
      expect_named(message_of<CollectiveMismatch>(client_, result), {"i32", "f32", "operation 2"});
      break;
    case Case::op:
      group.all_reduce(client_, small, result, Dtype::f32, is_odd_ ? ReduceOp::max : ReduceOp::sum);
      expect_named(message_of<CollectiveMismatch>(client_, result), {"max", "sum", "operation 2"});
      break;
    case Case::root:
      group.broadcast(client_, small, result, is_odd_ ? 1 : 0);
      expect_named(message_of<CollectiveMismatch>(client_, result), {"root 1", "root 0", "operation 2"});
      break;
    case Case::large_count:
      group.all_reduce(client_, is_odd_ ? small : large, is_odd_ ? result : large, Dtype::f32, ReduceOp::sum);
      expect_named(message_of<CollectiveMismatch>(client_, is_odd_ ? result : large), {"64 bytes", "4194304 bytes"});
      break;
  }
  // The group is broken, and every later call says the same at once.
  ASSERT_NE(group.broken(), nullptr);
  const Handle after = client_.empty(64);
  group.all_reduce(client_, small, after, Dtype::f32, ReduceOp::sum);
  EXPECT_THROW(client_.read(after), CollectiveMismatch);
  EXPECT_THROW(group.barrier(client_), CollectiveMismatch);
}

INSTANTIATE_TEST_SUITE_P(Cases, MismatchOf,
                         testing::Values(Case::operation, Case::count, Case::dtype, Case::op, Case::root, Case::large_count));

TEST(Failures, ATaintedSourceIsToldToAllAndTheGroupGoesOn) {
  const ClientGroup group = fresh_group();
  if (group.broken()) GTEST_SKIP() << "with two devices there are fewer groups than cases";
  const Client client = world().clients().front();
  const Kernel broken("broken", [](const KernelContext&) { throw std::runtime_error("the reason"); });
  for (const std::size_t count : {std::size_t{16}, std::size_t{1} << 20U}) {
    const Handle source = client.create_from_slice<float>(std::vector<float>(count, 1.0F)), sum = client.empty(source.size());
    if (world().rank().value == 0) client.launch(broken, {}, {Argument::out(source)});
    group.all_reduce(client, source, sum, Dtype::f32, ReduceOp::sum);
    const std::string message = message_of<PeerFailed>(client, sum);
    EXPECT_NE(message.find("rank 0"), std::string::npos) << message;
    EXPECT_NE(message.find("the reason"), std::string::npos) << message;
    client.write(source, Bytes::copy_of<float>(std::vector<float>(count, 1.0F)));
    group.all_reduce(client, source, sum, Dtype::f32, ReduceOp::sum);
    EXPECT_EQ(client.read(sum).as<float>()[15], static_cast<float>(group.size()));
  }
}

// The last tests break their groups by waiting: MUSTER_TIMEOUT is short here.

TEST(ZDeadlines, AMissingRankIsNamedWhenTheDeadlineHasPassed) {
  std::vector<DeviceId> devices = world().all_devices();
  const ClientGroup group = world().group(devices);
  if (group.broken()) GTEST_SKIP() << "with two devices there are fewer groups than cases";
  const Client client = world().clients().front();
  const Handle value = client.create_from_slice<float>(std::vector<float>(16, 1.0F));
  group.all_reduce(client, value, value, Dtype::f32, ReduceOp::sum);
  client.sync();
  const int absent = world().size() - 1;
  if (world().rank().value != absent) {
    group.all_reduce(client, value, value, Dtype::f32, ReduceOp::sum);
    try {
      const Bytes bytes = client.read(value);
      ADD_FAILURE() << "nothing was reported";
    } catch (const TimedOut& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("all_reduce"), std::string::npos) << message;
      // Ranks of another host than the missing one learn of it through the others.
      const bool beside = world().host_of(world().rank()) == world().host_of({absent});
      if (beside) EXPECT_NE(message.find("rank " + std::to_string(absent)), std::string::npos) << message;
    }
  } else {
    const Deadline deadline = Deadline::after(10s);
    EXPECT_TRUE(client.help_until([&] { return group.broken() != nullptr; }, deadline)) << "nobody told the missing rank";
  }
}

TEST(ZDeadlines, ARankThatDoesNotFormTheGroupIsNamed) {
  if (world().size() < 3) GTEST_SKIP() << "needs a group that is not that of the other tests";
  std::vector<DeviceId> devices{{Backend::host, {0}, 0}, {Backend::host, {1}, 0}, {Backend::host, {2}, 0}};
  const int absent = 2;
  if (world().rank().value >= absent) return;
  const ClientGroup group = world().group(devices);
  const Client client = world().clients().front();
  const Handle value = client.create_from_slice<float>(std::vector<float>(16, 1.0F));
  group.all_reduce(client, value, value, Dtype::f32, ReduceOp::sum);
  try {
    const Bytes bytes = client.read(value);
    ADD_FAILURE() << "nothing was reported";
  } catch (const TimedOut& error) {
    EXPECT_NE(std::string(error.what()).find("rank 2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace muster::test
