// Groups of any devices of any ranks: forming, order, several devices, batches, waiting.

#include <gtest/gtest.h>

#include <muster/client_group.hpp>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "hand_off_ranks.kernel.hpp"
#include "support/world_environment.hpp"

namespace muster::test {
namespace {

using namespace std::chrono_literals;

std::vector<float> filled(std::size_t count, float value) { return std::vector<float>(count, value); }

/// All-reduces `count` times the member's index + 1 on every local member, and checks the sum.
void expect_sum(const ClientGroup& group, std::size_t count, CollectiveOptions options = {}) {
  std::vector<Handle> values;
  const auto clients = group.local_clients();
  for (const Client& client : clients) {
    values.push_back(client.create_from_slice<float>(filled(count, static_cast<float>(group.index_of(client) + 1))));
    group.all_reduce(client, values.back(), values.back(), Dtype::f32, ReduceOp::sum, options);
  }
  const auto n = static_cast<float>(group.size());
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const Bytes bytes = clients[i].read(values[i]);
    EXPECT_EQ(bytes.as<float>()[0], n * (n + 1) / 2);
    EXPECT_EQ(bytes.as<float>()[count - 1], n * (n + 1) / 2);
  }
}

TEST(Groups, TheGroupOfAllDevicesReducesOverAllOfThem) {
  const ClientGroup group = world().group();
  EXPECT_EQ(group.size(), static_cast<int>(world().all_devices().size()));
  expect_sum(group, 3);
  expect_sum(group, 300'000);
}

TEST(Groups, TheOrderOfTheDevicesIsTheOrderOfTheMembers) {
  auto devices = world().all_devices();
  std::reverse(devices.begin(), devices.end());
  const ClientGroup group = world().group(devices);
  for (const Client& client : group.local_clients()) {
    EXPECT_EQ(devices[static_cast<std::size_t>(group.index_of(client))], client.device_id());
  }
  expect_sum(group, 1000);
}

TEST(Groups, ACollectiveInPlaceLeavesLazyReadsAsTheyWere) {
  const ClientGroup group = world().group();
  for (const std::size_t count : {3U, 300'000U}) {
    std::vector<std::pair<Bytes, float>> reads;
    for (const Client& client : group.local_clients()) {
      const auto own = static_cast<float>(group.index_of(client) + 1);
      const Handle values = client.create_from_slice<float>(filled(count, own));
      reads.emplace_back(client.read_lazy(values), own);
      group.all_reduce(client, values, values, Dtype::f32, ReduceOp::max);
      reads.emplace_back(client.read_lazy(values), static_cast<float>(group.size()));
      // Members other than the root write nothing before the broadcast does: it must not write into what was read.
      if (group.index_of(client) == 0) client.write(values, Bytes::copy_of<float>(filled(count, -7)));
      group.broadcast(client, values, values, 0);
    }
    for (const auto& [bytes, expected] : reads) EXPECT_EQ(bytes.as<float>()[count - 1], expected);
  }
}

TEST(Groups, CollectivesAreRecordedAndReplayedAcrossRanks) {
  const ClientGroup group = world().group();
  const auto clients = group.local_clients();
  for (const std::size_t count : {5U, 100'000U}) {
    std::vector<Handle> values, sums;
    std::vector<Graph> graphs;
    for (const Client& client : clients) {
      values.push_back(client.create_from_slice<float>(filled(count, 0)));
      sums.push_back(client.empty(count * sizeof(float)));
      client.start_capture();
      client.copy(values.back(), sums.back());
      group.all_reduce(client, sums.back(), sums.back(), Dtype::f32, ReduceOp::sum);
      group.all_reduce(client, sums.back(), sums.back(), Dtype::f32, ReduceOp::max);
      group.sync_collective(client);
      EXPECT_THROW(group.barrier(client), UsageError);
      graphs.push_back(client.stop_capture());
      EXPECT_EQ(graphs.back().size(), 3U);
    }
    const auto n = static_cast<float>(group.size());
    for (int round = 0; round < 20; ++round) {
      for (std::size_t i = 0; i < clients.size(); ++i) {
        const auto own = static_cast<float>(group.index_of(clients[i]) + 1 + round);
        clients[i].write(values[i], Bytes::copy_of<float>(filled(count, own)));
        // Replays stand in one order with what is issued directly.
        if (round % 3 == 0) group.broadcast(clients[i], values[i], values[i], group.size() - 1);
        graphs[i].replay();
      }
      const float expected =
          round % 3 == 0 ? n * (n + static_cast<float>(round)) : n * (n + 1) / 2 + n * static_cast<float>(round);
      for (std::size_t i = 0; i < clients.size(); ++i) {
        const Bytes bytes = clients[i].read(sums[i]);
        ASSERT_EQ(bytes.as<float>()[0], expected);
        ASSERT_EQ(bytes.as<float>()[count - 1], expected);
      }
    }
  }
}

TEST(Groups, KernelsOfTwoRanksHandOffThroughMemoryThatTheyShare) {
  const ClientGroup group = world().group();
  const auto clients = group.local_clients();
  std::vector<PeerHandle> mine;
  for (const Client& client : clients) {
    const std::vector<std::uint64_t> zeros(2);
    mine.push_back(client.share_with_peers(client.create_from_slice<std::uint64_t>(zeros)));
    client.sync();
  }
  const auto shared = group.exchange_peers(mine);
  ASSERT_EQ(shared.size(), static_cast<std::size_t>(group.size()));
  for (int i = 0; i < group.size(); ++i) {
    const bool same_host = world().host_of(group.devices()[i].rank) == world().host_of(world().rank());
    EXPECT_EQ(shared[i].valid(), same_host);
    if (same_host) {
      EXPECT_EQ(shared[i].service_id().device, group.devices()[i]);
    }
  }
  // The first member, and the first of another rank of its host: each uses memory of the other.
  int other = 1;
  const auto& devices = group.devices();
  while (other < group.size() && (devices[other].rank == devices[0].rank ||
                                  world().host_of(devices[other].rank) != world().host_of(devices[0].rank))) {
    ++other;
  }
  constexpr std::int64_t rounds = 50;
  for (const Client& client : clients) {
    const int me = group.index_of(client);
    if (other == group.size() || (me != 0 && me != other)) continue;
    client.launch(Kernel(take_turns_across_ranks, {1, 1, 1}), 1,
                  {Argument::peer(shared[0]), Argument::peer(shared[other]),
                   Argument::scalar(std::int64_t{me == 0 ? 0 : 1}), Argument::scalar(rounds)});
    client.sync(Deadline::after(20s));
    std::uint64_t counted = 0;
    std::memcpy(&counted, memory_of(shared[other]).address, sizeof counted);
    EXPECT_GE(counted, static_cast<std::uint64_t>(2 * rounds - 1));
  }
  for (const Client& client : clients)
    group.all_reduce(client, client.create(Bytes(4)), client.empty(4), Dtype::f32, ReduceOp::sum);
  EXPECT_THROW(static_cast<void>(group.exchange_peers(std::span<const PeerHandle>())), UsageError);
}

TEST(Groups, ATransferFailsACapture) {
  const ClientGroup group = world().group();
  if (group.size() < 2) GTEST_SKIP() << "needs two members";
  for (const Client& client : group.local_clients()) {
    client.start_capture();
    group.send(client, client.empty(8), group.index_of(client) == 0 ? 1 : 0);
    EXPECT_THROW(static_cast<void>(client.stop_capture()), CaptureFailed);
  }
}

TEST(Groups, FormInOppositeOrdersOnTheRanks) {
  // Each round has two groups that no round before had: the device list is another permutation.
  auto devices = world().all_devices();
  std::mt19937 same_on_all_ranks(11);
  for (int round = 0; round < 100; ++round) {
    std::vector<ClientGroup> groups;
    for (int i = 0; i < 2; ++i) {
      std::shuffle(devices.begin(), devices.end(), same_on_all_ranks);
      groups.push_back(world().group(devices));
    }
    if (world().rank().value % 2 == 1) std::swap(groups[0], groups[1]);
    // What the second group reduces is made before the stream waits for the first: then neither waits for the other.
    std::vector<std::pair<Client, Handle>> results;
    for (const ClientGroup& group : groups) {
      for (const Client& client : group.local_clients()) {
        results.emplace_back(client, client.create_from_slice<float>(filled(5, 1)));
      }
    }
    auto next = results.begin();
    for (const ClientGroup& group : groups) {
      for (const Client& client : group.local_clients()) {
        group.all_reduce(client, next->second, next->second, Dtype::f32, ReduceOp::sum);
        ++next;
      }
    }
    for (const auto& [client, value] : results) {
      ASSERT_EQ(client.read(value).as<float>()[4], static_cast<float>(devices.size())) << "round " << round;
    }
  }
}

TEST(Groups, FormFromSeveralThreadsAtOnceAsOne) {
  auto devices = world().all_devices();
  std::rotate(devices.begin(), devices.begin() + 1, devices.end());
  std::vector<std::thread> threads;
  const auto first = world().group(devices);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] { EXPECT_EQ(world().group(devices).devices().data(), first.devices().data()); });
  }
  for (auto& thread : threads) thread.join();
  expect_sum(first, 10);
}

TEST(Groups, OneDeviceOfEachRankAndSingleDevices) {
  std::vector<DeviceId> firsts;
  for (int rank = 0; rank < world().size(); ++rank) firsts.push_back({Backend::host, {rank}, 0});
  expect_sum(world().group(firsts), 70'000);
  expect_sum(world().group({{Backend::host, world().rank(), 1}}), 70'000);
  expect_sum(world().group({{Backend::host, world().rank(), 1}, {Backend::host, world().rank(), 0}}), 70'000);
}

TEST(Groups, RefuseRepeatedUnknownAndForeignDevices) {
  const DeviceId own{Backend::host, world().rank(), 0};
  EXPECT_THROW(world().group({own, own}), UsageError);
  EXPECT_THROW(world().group({own, {Backend::host, {world().size()}, 0}}), UsageError);
  EXPECT_THROW(world().group({own, {Backend::host, {0}, 99}}), UsageError);
  EXPECT_THROW(world().group(std::vector<DeviceId>{}), UsageError);
  EXPECT_THROW(world().group({{Backend::host, {(world().rank().value + 1) % world().size()}, 0}}), UsageError);
}

TEST(Groups, CallsWithWrongSizesRootsOrClientsAreRefusedAtTheCall) {
  const ClientGroup group = world().group();
  const Client client = group.local_clients().front();
  const Handle eight = client.empty(8), seven = client.empty(7), nine = client.empty(9);
  EXPECT_THROW(group.all_reduce(client, seven, seven, Dtype::f32, ReduceOp::sum), UsageError);
  EXPECT_THROW(group.all_reduce(client, eight, nine, Dtype::u8, ReduceOp::sum), UsageError);
  EXPECT_THROW(group.all_reduce(client, eight, eight, Dtype::f32, ReduceOp::bit_or), UsageError);
  EXPECT_THROW(group.all_gather(client, eight, nine), UsageError);
  EXPECT_THROW(group.reduce_scatter(client, nine, eight, Dtype::f32, ReduceOp::sum), UsageError);
  EXPECT_THROW(group.broadcast(client, eight, eight, -1), UsageError);
  EXPECT_THROW(group.broadcast(client, eight, eight, group.size()), UsageError);
  EXPECT_THROW(group.all_to_all(client, client.empty(group.size() + 1), client.empty(group.size() + 1)), UsageError);
  const Handle whole = client.empty(16);
  EXPECT_THROW(group.all_reduce(client, whole.slice(0, 12), whole.slice(4, 12), Dtype::f32, ReduceOp::sum), UsageError);
  EXPECT_THROW(group.all_reduce(client, world().clients()[1].empty(8), eight, Dtype::f32, ReduceOp::sum), ForeignHandle);
  const ClientGroup others = world().group({{Backend::host, world().rank(), 1}});
  EXPECT_THROW(others.all_reduce(client, eight, eight, Dtype::f32, ReduceOp::sum), UsageError);
  expect_sum(group, 4);  // nothing was enqueued
}

TEST(Groups, ABatchRunsItsOperationsInTheirOrder) {
  const ClientGroup group = world().group();
  std::vector<Handle> values;
  const auto clients = group.local_clients();
  for (const Client& client : clients) values.push_back(client.create_from_slice<float>(filled(100, 1)));
  group.batch([&] {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      for (int times = 0; times < 3; ++times) {
        group.all_reduce(clients[i], values[i], values[i], Dtype::f32, ReduceOp::sum);
      }
    }
  });
  const auto n = static_cast<float>(group.size());
  for (std::size_t i = 0; i < clients.size(); ++i) EXPECT_EQ(clients[i].read(values[i]).as<float>()[99], n * n * n);
}

TEST(Groups, AtSyncLetsTheStreamRunOnAndSyncCollectiveBringsTheResult) {
  const ClientGroup group = world().group();
  const CollectiveOptions later{ComputeWait::at_sync, Reproducibility::exact};
  const auto clients = group.local_clients();
  std::vector<Handle> values;
  std::atomic<int> ran{0};
  const Kernel count("count", [&](const KernelContext&) { ++ran; });
  for (const Client& client : clients) {
    values.push_back(client.create_from_slice<float>(filled(100'000, 1)));
    group.all_reduce(client, values.back(), values.back(), Dtype::f32, ReduceOp::sum, later);
    client.launch(count, {}, {});
    client.flush();
  }
  for (const Client& client : clients) group.sync_collective(client);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    EXPECT_EQ(clients[i].read(values[i]).as<float>()[99'999], static_cast<float>(group.size()));
  }
  EXPECT_EQ(ran.load(), static_cast<int>(clients.size()));
}

TEST(Groups, ABarrierHoldsUntilAllHaveCome) {
  const ClientGroup group = world().group();
  const auto clients = group.local_clients();
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < clients.size(); ++i) threads.emplace_back([&, i] { group.barrier(clients[i]); });
    group.barrier(clients[0]);
    for (auto& thread : threads) thread.join();
  }
  EXPECT_EQ(group.broken(), nullptr);
}

TEST(Groups, ManySmallOperationsInARow) {
  const ClientGroup group = world().group();
  const auto clients = group.local_clients();
  std::vector<Handle> sources, sums;
  for (const Client& client : clients) {
    sources.push_back(client.create_from_slice<float>(filled(1, 1)));
    sums.push_back(client.empty(sizeof(float)));
  }
  constexpr int operations = 2000;
  for (int i = 0; i < operations; ++i) {
    for (std::size_t c = 0; c < clients.size(); ++c) {
      group.all_reduce(clients[c], sources[c], sums[c], Dtype::f32, ReduceOp::sum);
    }
  }
  for (std::size_t c = 0; c < clients.size(); ++c) {
    EXPECT_EQ(clients[c].read(sums[c]).as<float>()[0], static_cast<float>(group.size()));
  }
}

TEST(Groups, SmallAndLargeOperationsInTurnsKeepTheirValues) {
  const ClientGroup group = world().group();
  std::mt19937 same_on_all_ranks(3);
  for (int round = 0; round < 60; ++round) {
    const std::size_t count = round % 3 == 0 ? 200'000 + same_on_all_ranks() % 1000 : 1 + same_on_all_ranks() % 3000;
    expect_sum(group, count,
               {round % 2 == 0 ? ComputeWait::at_once : ComputeWait::at_sync,
                round % 4 == 0 ? Reproducibility::fast : Reproducibility::exact});
  }
}

}  // namespace
}  // namespace muster::test
