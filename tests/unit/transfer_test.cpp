// Copies between devices of one process.

#include <gtest/gtest.h>

#include <muster/client.hpp>

#include <atomic>
#include <numeric>
#include <thread>

#include "support/fresh_device.hpp"

namespace muster {
namespace {

using test::new_device;

std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t first) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}
std::vector<std::uint32_t> read(const Client& client, const Handle& handle) {
  const Bytes bytes = client.read(handle);
  const auto span = bytes.as<std::uint32_t>();
  return {span.begin(), span.end()};
}

/// Both ways: devices that can access each other, and such that go through the host.
class ToClient : public testing::TestWithParam<PeerAccess> {
 protected:
  Client client = new_device({.peers = GetParam()});
  Client other = new_device({.peers = GetParam()});
};
INSTANTIATE_TEST_SUITE_P(Paths, ToClient, testing::Values(PeerAccess::shared, PeerAccess::isolated),
                         [](const auto& path) { return path.param == PeerAccess::shared ? "direct" : "host"; });

TEST_P(ToClient, CopiesToTheOtherDevice) {
  for (const std::size_t count : {0U, 1U, 1000U, 3'000'000U}) {
    const Handle source = client.create_from_slice<std::uint32_t>(numbers(count, 7));
    const Handle copy = client.to_client(source, other);
    EXPECT_EQ(copy.service_id(), other.service_id());
    EXPECT_EQ(read(other, copy), numbers(count, 7));
  }
}

TEST_P(ToClient, TheDataIsThatOfTheCall) {
  const Handle source = client.create_from_slice<std::uint32_t>(numbers(1000, 1));
  const Handle first = client.to_client(source, other);
  client.write(source, Bytes::copy_of<std::uint32_t>(numbers(1000, 2)));
  const Handle second = client.to_client(source.slice(0, 40), other);
  client.write(source, Bytes::copy_of<std::uint32_t>(numbers(1000, 3)));
  EXPECT_EQ(read(other, first), numbers(1000, 1));
  EXPECT_EQ(read(other, second), numbers(10, 2));
  EXPECT_EQ(read(client, source), numbers(1000, 3));
}

TEST_P(ToClient, AFailedSourceTaintsTheDestinationAndDoesNotHangIt) {
  const Handle source = client.empty(8);
  client.launch(Kernel("broken", [](const KernelContext&) { throw std::runtime_error("no"); }), 1, {Argument::out(source)});
  const Handle copy = client.to_client(source, other);
  EXPECT_THROW(static_cast<void>(other.read(copy)), LaunchFailed);
}

TEST_P(ToClient, ADestinationWithoutMemoryIsTaintedAndTheSourceIsFine) {
  const Client small = new_device({.memory_limit_bytes = 4 << 20, .peers = GetParam()});
  const Handle source = client.create(Bytes(16 << 20));
  const Handle copy = client.to_client(source, small);
  EXPECT_THROW(static_cast<void>(small.read(copy)), OutOfMemory);
  EXPECT_NO_THROW(static_cast<void>(client.read(source)));
}

TEST_P(ToClient, DoesNotWaitForABusyDestinationsProgram) {
  std::atomic<bool> go{false};
  other.launch(Kernel("busy",
                      [&](const KernelContext&) {
                        while (!go) std::this_thread::yield();
                      }),
               1, {});
  other.flush();
  const Handle copy = client.to_client(client.create_from_slice<std::uint32_t>(numbers(10, 5)), other);
  // The call returned although the destination's own stream is still in that kernel.
  go = true;
  EXPECT_EQ(read(other, copy), numbers(10, 5));
}

TEST_P(ToClient, ManyThreadsInBothDirectionsComeToAnEnd) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const Client& here = thread % 2 == 0 ? client : other;
      const Client& there = thread % 2 == 0 ? other : client;
      Handle handle = here.create_from_slice<std::uint32_t>(numbers(100, static_cast<std::uint32_t>(thread)));
      for (int round = 0; round < 200; ++round) handle = there.to_client(here.to_client(handle, there), here);
      EXPECT_EQ(read(here, handle), numbers(100, static_cast<std::uint32_t>(thread)));
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_P(ToClient, RefusesForeignHandlesAndRecordingStreams) {
  EXPECT_THROW(static_cast<void>(client.to_client(other.empty(8), other)), ForeignHandle);
  const Handle source = client.empty(8);
  client.start_capture();
  EXPECT_THROW(static_cast<void>(client.to_client(source, other)), UsageError);
  static_cast<void>(client.stop_capture());
}

TEST(ToClientSameDevice, MakesACopyOfItsOwn) {
  const Client client = new_device();
  const Handle source = client.create_from_slice<std::uint32_t>(numbers(10, 1));
  const Handle copy = client.to_client(source, client);
  client.write(source, Bytes::copy_of<std::uint32_t>(numbers(10, 9)));
  EXPECT_EQ(read(client, copy), numbers(10, 1));
}

}  // namespace
}  // namespace muster
