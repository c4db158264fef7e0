// Profiling windows, exclusive use and measurements.

#include <gtest/gtest.h>

#include <muster/client.hpp>
#include <muster/throughput.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "support/fresh_device.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::new_device;

/// Runs for at least this long.
Kernel busy_for(std::chrono::microseconds span) {
  return {"busy", [span](const KernelContext&) {
            const auto until = std::chrono::steady_clock::now() + span;
            while (std::chrono::steady_clock::now() < until) {
            }
          }};
}

TEST(ProfileWindow, MeasuresTheWorkInsideOnly) {
  const Client client = new_device();
  client.launch(busy_for(20ms), 1, {});
  const ProfileToken token = client.profile_start();
  client.launch(busy_for(2ms), 1, {});
  auto duration = client.profile_end(token);
  client.launch(busy_for(20ms), 1, {});
  const ProfileDuration measured = duration.get();
  ASSERT_TRUE(measured);
  EXPECT_GE(*measured, 2ms);
}

TEST(ProfileWindow, WithoutWorkSaysThatThereIsNoMeasurement) {
  const Client client = new_device();
  const ProfileToken token = client.profile_start();
  EXPECT_FALSE(client.profile_end(token).get());
}

TEST(ProfileWindow, NestedOnesEachHaveTheirOwn) {
  const Client client = new_device();
  const ProfileToken outer = client.profile_start();
  client.launch(busy_for(1ms), 1, {});
  const ProfileToken inner = client.profile_start();
  client.launch(busy_for(1ms), 1, {});
  const ProfileToken empty = client.profile_start();
  auto of_empty = client.profile_end(empty), of_inner = client.profile_end(inner), of_outer = client.profile_end(outer);
  EXPECT_FALSE(of_empty.get());
  const auto inside = of_inner.get(), around = of_outer.get();
  ASSERT_TRUE(inside && around);
  EXPECT_GE(*inside, 1ms);
  EXPECT_GE(*around, *inside + 1ms);
}

TEST(ProfileWindow, RemembersItsStreamWhoeverEndsIt) {
  const Client client = new_device();
  const ProfileToken token = client.profile_start();
  client.launch(busy_for(1ms), 1, {});
  std::thread([&] {
    client.launch(busy_for(1ms), 1, {});
    const auto measured = client.profile_end(token).get();
    ASSERT_TRUE(measured);
    EXPECT_GE(*measured, 1ms);
  }).join();
  EXPECT_THROW(static_cast<void>(client.profile_end(token)), UsageError) << "it was ended";
}

TEST(ProfileWindow, AnAbandonedOneEndsWithoutAResult) {
  const Client client = new_device();
  const ProfileToken token = client.profile_start();
  client.profile_abandon(token);
  EXPECT_NO_THROW(client.profile_abandon(token));
  EXPECT_THROW(static_cast<void>(client.profile_end(token)), UsageError);
}

TEST(ProfileWindow, IsRefusedWhileTheStreamRecords) {
  const Client client = new_device();
  const ProfileToken token = client.profile_start();
  client.start_capture();
  EXPECT_THROW(static_cast<void>(client.profile_start()), UsageError);
  EXPECT_THROW(static_cast<void>(client.profile_end(token)), UsageError);
  EXPECT_THROW(client.profile([] {}), UsageError);
  static_cast<void>(client.stop_capture());
  EXPECT_NO_THROW(static_cast<void>(client.profile_end(token)));
}

TEST(Profile, GivesTheValueAndTheDuration) {
  const Client client = new_device();
  const auto profiled = client.profile(
      [&] {
        client.launch(busy_for(1ms), 1, {});
        return 42;
      },
      "the answer");
  EXPECT_EQ(profiled.value, 42);
  ASSERT_TRUE(profiled.duration);
  EXPECT_GE(*profiled.duration, 1ms);
  EXPECT_FALSE(client.profile([] {}));
}

TEST(Profile, AnExceptionEndsTheWindowAndReleasesTheDevice) {
  const Client client = new_device();
  EXPECT_THROW(client.profile([]() -> int { throw std::runtime_error("left"); }), std::runtime_error);
  std::thread([&] { EXPECT_NO_THROW(client.sync()); }).join();
}

TEST(Exclusive, HoldsBackTheWorkOfOtherThreads) {
  const Client client = new_device();
  std::atomic<int> ran{0};
  const Kernel count("count", [&](const KernelContext&) { ++ran; });
  std::atomic<bool> submitted{false};
  std::thread other;
  const int seen = client.exclusive([&] {
    other = std::thread([&] {
      client.launch(count, 1, {});
      submitted = true;
      client.sync();
      EXPECT_EQ(ran.load(), 1);
    });
    while (!submitted) std::this_thread::yield();
    client.flush();
    client.exclusive([&] { client.sync(); });  // may be nested
    return ran.load();
  });
  other.join();
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(ran.load(), 1);
}

TEST(Exclusive, WaitsForWhatCameBefore) {
  const Client client = new_device();
  std::atomic<bool> done{false};
  std::thread([&] { client.launch(Kernel("before", [&](const KernelContext&) { done = true; }), 1, {}); }).join();
  client.exclusive([&] { EXPECT_TRUE(done); });
}

TEST(Exclusive, IsAnErrorAndRunsNothingWhereItCannotBeHad) {
  const Client client = new_device();
  bool ran = false;
  client.start_capture();
  EXPECT_THROW(client.exclusive([&] { ran = true; }), UsageError);
  static_cast<void>(client.stop_capture());
  client.submit_blocking([&](DeviceContext&) { EXPECT_THROW(client.exclusive([&] { ran = true; }), UsageError); });
  std::atomic<bool> held{false}, leave{false};
  std::thread holder([&] {
    client.exclusive([&] {
      held = true;
      while (!leave) std::this_thread::yield();
    });
  });
  while (!held) std::this_thread::yield();
  EXPECT_THROW(client.exclusive([&] { ran = true; }, Deadline::after(50ms)), TimedOut);
  leave = true;
  holder.join();
  EXPECT_FALSE(ran);
  client.exclusive([&] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST(Throughput, IsMeasuredOncePerHardwareAndKeptOnDisk) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("muster_cache_" + std::to_string(getpid()));
  setenv("MUSTER_CACHE", folder.c_str(), 1);
  const Client client = new_device(), same_hardware = new_device();
  std::atomic<int> runs{0};
  const auto probe = [&](const Client& device) {
    ++runs;
    device.launch(busy_for(10us), 1, {});
    device.sync();
    return 12.5;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(same_hardware.measure_throughput("test/probe", probe), 12.5); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(client.measure_throughput("test/probe", probe), 12.5);
  EXPECT_EQ(runs.load(), 1);
  EXPECT_TRUE(std::filesystem::exists(folder / "throughput.json"));
  EXPECT_THROW(client.measure_throughput("test/broken", [](const Client&) -> double { throw std::runtime_error("no"); }),
               std::runtime_error);
  std::filesystem::remove_all(folder);
}

TEST(ThroughputProbes, MeasureMemoryAndArithmetic) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("muster_probes_" + std::to_string(getpid()));
  setenv("MUSTER_CACHE", folder.c_str(), 1);
  const Client client = new_device({.memory_limit_bytes = std::size_t{64} << 20U});
  for (const double rate :
       {throughput::memory_copy(client), throughput::memory_read(client), throughput::memory_write(client),
        throughput::fma(client, Dtype::f32), throughput::fma(client, Dtype::f64), throughput::fma(client, Dtype::i32),
        throughput::fma(client, Dtype::u64)}) {
    EXPECT_GT(rate, 1e6);
    EXPECT_LT(rate, 1e15);
  }
  EXPECT_EQ(throughput::memory_copy(client), throughput::memory_copy(new_device())) << "measured once for the hardware";
  EXPECT_THROW(throughput::fma(client, Dtype::f8_e4m3), UsageError);
  std::filesystem::remove_all(folder);
}

TEST(VectorSizes, AreBestFirstAndEndWithOne) {
  const Client client = new_device();
  for (const std::size_t element : {1U, 2U, 4U, 8U, 12U}) {
    const auto sizes = client.io_optimized_vector_sizes(element);
    EXPECT_EQ(sizes.back(), 1U);
    EXPECT_TRUE(std::is_sorted(sizes.rbegin(), sizes.rend()));
    EXPECT_LE(sizes.front() * element, 64U);
  }
  EXPECT_THROW(static_cast<void>(client.io_optimized_vector_sizes(0)), UsageError);
}

}  // namespace
}  // namespace muster
