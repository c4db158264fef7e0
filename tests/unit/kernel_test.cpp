// Launches: single-source kernels, compilation, modes, dynamic counts, observers, peers.

#include <gtest/gtest.h>

#include <muster/client.hpp>
#include <muster/kernel_language.hpp>
#include <muster/kernels.hpp>

#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <thread>

#include "hand_off.kernel.hpp"
#include "support/fresh_device.hpp"

namespace muster {
namespace {

using test::new_device;

std::vector<float> wave(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i) * 0.37F) * 3.0F;
  return values;
}
Handle zeros(const Client& client, std::size_t size_bytes) {
  Bytes bytes(size_bytes);
  if (size_bytes != 0) std::memset(bytes.data(), 0, size_bytes);
  return client.create(std::move(bytes));
}
template <class T>
std::vector<T> read(const Client& client, const Handle& handle) {
  const Bytes bytes = client.read(handle);
  const auto span = bytes.as<T>();
  return {span.begin(), span.end()};
}
Argument count_of(std::uint64_t n) { return Argument::scalar(static_cast<std::int64_t>(n)); }

TEST(SingleSource, EveryThreadOfAnyGridHasItsOwnIndex) {
  const Client client = new_device();
  for (const auto& [grid, block] : {std::pair{Dim3{1, 1, 1}, Dim3{1, 1, 1}}, std::pair{Dim3{3, 2, 4}, Dim3{5, 3, 2}},
                                    std::pair{Dim3{7, 1, 1}, Dim3{1024, 1, 1}}}) {
    const std::size_t threads = grid.product() * block.product();
    const Handle out = client.empty(threads * 4);
    client.launch(Kernel(linear_index_u32, block), grid, {Argument::out(out)});
    const auto values = read<std::uint32_t>(client, out);
    for (std::size_t i = 0; i < threads; ++i) ASSERT_EQ(values[i], i);
  }
}

TEST(SingleSource, ABarrierHoldsAllThreadsOfABlockBack) {
  const Client client = new_device();
  for (const std::uint32_t size : {1U, 2U, 33U, 1024U}) {
    std::vector<std::uint32_t> values(size * 5);
    std::iota(values.begin(), values.end(), 0U);
    const Handle memory = client.create_from_slice<std::uint32_t>(values);
    client.launch(Kernel(reverse_blocks_u32, {size, 1, 1}), 5,
                  {Argument::in_out(memory), Argument::scalar(std::int64_t{3})});
    const auto result = read<std::uint32_t>(client, memory);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(result[i], i / size * size + (size - 1 - i % size));
  }
}

TEST(SingleSource, AThreadThatWaitsLetsTheOthersRun) {
  const Client client = new_device();
  const Handle flag = zeros(client, 4), seen = zeros(client, 64 * 4);
  client.launch(Kernel(wait_for_last_thread, {64, 1, 1}), 1, {Argument::in_out(flag), Argument::in_out(seen)});
  EXPECT_EQ(read<std::uint32_t>(client, seen), std::vector<std::uint32_t>(64, 7));
}

TEST(SingleSource, AtomicsLoseNothing) {
  for (const int threads : {1, 3}) {
    const Client client = new_device({.kernel_threads = threads});
    std::vector<std::uint32_t> values(100'000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>((i * 7919) % 65'537 % 3);
    const auto nonzero = static_cast<std::uint32_t>(values.size() - std::count(values.begin(), values.end(), 0U));
    values[4711] = 99'999;
    const Handle in = client.create_from_slice<std::uint32_t>(values), count = zeros(client, 4), largest = zeros(client, 4),
                 claimed = zeros(client, 4), flag = zeros(client, 4);
    client.launch(kernels::count_nonzero_u32(), kernels::blocks_for(kernels::count_nonzero_u32(), values.size()),
                  {Argument::in(in), Argument::in_out(count), count_of(values.size())});
    const Kernel atomics(atomics_u32, {128, 1, 1});
    client.launch(atomics, kernels::blocks_for(atomics, values.size()),
                  {Argument::in(in), Argument::in_out(largest), Argument::in_out(claimed), Argument::in_out(flag),
                   Argument::metadata({values.size()})});
    EXPECT_NEAR(read<std::uint32_t>(client, count)[0], nonzero, 1);
    EXPECT_EQ(read<std::uint32_t>(client, largest)[0], 99'999U);
    EXPECT_EQ(read<std::uint32_t>(client, claimed)[0], 1U);
  }
}

TEST(SingleSource, ItsTextIsEmbeddedForOtherBackends) {
  EXPECT_NE(kernel_source("hand_off.kernel.hpp").find("MUSTER_KERNEL(take_turns"), std::string_view::npos);
  EXPECT_NE(kernel_source("matmul.kernel.hpp").find("MUSTER_KERNEL(matmul_f32"), std::string_view::npos);
  EXPECT_TRUE(kernel_source("no such file").empty());
  EXPECT_EQ(take_turns.file, "hand_off.kernel.hpp");
}

TEST(SingleSource, RefusesArgumentsThatAreNotThoseOfTheDefinition) {
  const Client client = new_device();
  const Handle buffer = client.empty(64);
  const auto launch = [&](std::vector<Argument> arguments) { client.launch(kernels::fill(), 1, std::move(arguments)); };
  EXPECT_THROW(launch({Argument::out(buffer), Argument::scalar(1.0)}), UsageError) << "one is missing";
  EXPECT_THROW(launch({Argument::in(buffer), Argument::scalar(1.0), count_of(1)}), UsageError) << "it is written";
  EXPECT_THROW(launch({Argument::out(buffer), count_of(1), count_of(1)}), UsageError) << "an integer for a float";
  EXPECT_THROW(launch({Argument::out(buffer), Argument::scalar(1.0), Argument::scalar(1.0)}), UsageError);
  EXPECT_THROW(launch({Argument::scalar(1.0), Argument::scalar(1.0), count_of(1)}), UsageError);
  EXPECT_THROW(Kernel(linear_index_u32, {1025, 1, 1}), UsageError);
  EXPECT_THROW(Kernel(linear_index_u32, {0, 1, 1}), UsageError);
}

TEST(ShippedKernels, ComputeWhatTheySay) {
  const Client client = new_device();
  constexpr std::size_t n = 1000;
  const auto x = wave(n);
  const Handle a = client.create_from_slice<float>(x), b = client.empty(n * 4), out = client.empty(n * 4);
  const auto elementwise = [&](const Kernel& kernel, std::vector<Argument> arguments) {
    arguments.push_back(count_of(n));
    client.launch(kernel, kernels::blocks_for(kernel, n), std::move(arguments));
  };
  elementwise(kernels::ramp(), {Argument::out(b), Argument::scalar(1.0), Argument::scalar(0.5)});
  elementwise(kernels::add(), {Argument::in(a), Argument::in(b), Argument::out(out)});
  elementwise(kernels::multiply(), {Argument::in(out), Argument::in(b), Argument::out(out)});
  elementwise(kernels::axpy(), {Argument::in(a), Argument::in_out(out), Argument::scalar(2.0)});
  auto values = read<float>(client, out);
  for (std::size_t i = 0; i < n; ++i) {
    const float r = 1.0F + static_cast<float>(i) * 0.5F;
    ASSERT_FLOAT_EQ(values[i], (x[i] + r) * r + 2.0F * x[i]);
  }
  elementwise(kernels::relu(), {Argument::in(a), Argument::out(out)});
  values = read<float>(client, out);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(values[i], std::max(x[i], 0.0F));
  elementwise(kernels::gelu(), {Argument::in(a), Argument::out(out)});
  values = read<float>(client, out);
  for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(values[i], 0.5 * x[i] * (1 + std::erf(x[i] / std::sqrt(2.0))), 1e-6);
  elementwise(kernels::fill(), {Argument::out(out), Argument::scalar(4.0)});
  EXPECT_EQ(read<float>(client, out), std::vector<float>(n, 4.0F));

  const Handle partial = client.empty(4 * 4), sum = client.empty(4);
  client.launch(kernels::sum_blocks(), 4, {Argument::in(a), Argument::out(partial), count_of(n)});
  client.launch(kernels::sum_blocks(), 1, {Argument::in(partial), Argument::out(sum), count_of(4)});
  EXPECT_NEAR(read<float>(client, sum)[0], std::accumulate(x.begin(), x.end(), 0.0), 1e-3);
}

TEST(ShippedKernels, NormaliseRows) {
  const Client client = new_device();
  constexpr std::size_t rows = 7, columns = 300;
  const auto x = wave(rows * columns);
  const Handle in = client.create_from_slice<float>(x), out = client.empty(rows * columns * 4);
  client.launch(kernels::softmax_rows(), rows, {Argument::in(in), Argument::out(out), count_of(columns)});
  const auto softmax = read<float>(client, out);
  const Handle scale = client.create_from_slice<float>(std::vector<float>(columns, 2.0F)),
               shift = client.create_from_slice<float>(std::vector<float>(columns, 1.0F));
  client.launch(kernels::layer_norm_rows(), rows,
                {Argument::in(in), Argument::in(scale), Argument::in(shift), Argument::out(out), Argument::scalar(1e-5),
                 count_of(columns)});
  const auto normal = read<float>(client, out);
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0, mean = 0, squares = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += std::exp(double{x[r * columns + c]});
    for (std::size_t c = 0; c < columns; ++c) mean += x[r * columns + c] / static_cast<double>(columns);
    for (std::size_t c = 0; c < columns; ++c)
      squares += std::pow(x[r * columns + c] - mean, 2) / static_cast<double>(columns);
    for (std::size_t c = 0; c < columns; ++c) {
      const double value = x[r * columns + c];
      ASSERT_NEAR(softmax[r * columns + c], std::exp(value) / sum, 1e-6);
      ASSERT_NEAR(normal[r * columns + c], (value - mean) / std::sqrt(squares + 1e-5) * 2 + 1, 1e-4);
    }
  }
}

TEST(ShippedKernels, MultiplyMatricesOfAnyShape) {
  const Client client = new_device();
  for (const auto& [m, k, n] : {std::tuple{1U, 1U, 1U}, std::tuple{16U, 16U, 16U}, std::tuple{33U, 50U, 17U}}) {
    const auto a = wave(m * k), b = wave(k * n);
    const Handle in_a = client.create_from_slice<float>(a), in_b = client.create_from_slice<float>(b),
                 out = client.empty(std::size_t{4} * m * n);
    client.launch(kernels::matmul(), kernels::matmul_grid(m, n),
                  {Argument::in(in_a), Argument::in(in_b), Argument::out(out), count_of(m), count_of(k), count_of(n)});
    const auto c = read<float>(client, out);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t l = 0; l < k; ++l) sum += double{a[i * k + l]} * b[l * n + j];
        ASSERT_NEAR(c[i * n + j], sum, 1e-3);
      }
    }
  }
}

TEST(Launch, RunsAGridOnAllThreadsOfTheDevice) {
  const Client client = new_device({.kernel_threads = 4});
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> calls{0};
  std::atomic<bool> others{false};
  const Kernel kernel("gather threads", [&](const KernelContext&) {
    ++calls;
    {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
      if (seen.size() > 1) others = true;
    }
    // Each point takes long enough that others are asked to help: until one has come, or for a while.
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (!others && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  });
  client.launch(kernel, {20, 5, 2}, {});
  client.sync();
  EXPECT_EQ(calls.load(), 200);
  EXPECT_GT(seen.size(), 1U);
}

TEST(Launch, AnExceptionOfAnyPointFailsTheLaunchOnce) {
  const Client client = new_device({.kernel_threads = 3});
  const Handle out = client.empty(8);
  const Kernel kernel("one point throws", [](const KernelContext& at) {
    if (at.point().x == 777) throw std::runtime_error("point 777");
  });
  client.launch(kernel, 1000, {Argument::out(out)});
  try {
    static_cast<void>(client.read(out));
    FAIL();
  } catch (const LaunchFailed& error) {
    EXPECT_NE(std::string(error.what()).find("point 777"), std::string::npos);
  }
}

TEST(Launch, AnExceptionOfOneThreadEndsABlockWhoseOthersWaitAtABarrier) {
  const Client client = new_device();
  const Handle values = client.empty(1024 * 4);
  // A block that asks for more shared memory than there is fails in its first thread, at the declaration.
  static const KernelDefinition too_much = [] {
    KernelDefinition definition = reverse_blocks_u32;
    definition.run = [](std::span<const KernelContext::Slot>, detail::BlockRunner& runner) {
      detail::run_threads(
          runner,
          [](void*) {
            if (kernel::thread_index().x == 5) throw std::runtime_error("thread 5");
            kernel::sync_block();
          },
          nullptr);
    };
    return definition;
  }();
  client.launch(Kernel(too_much, {64, 1, 1}), 3, {Argument::in_out(values), count_of(1)});
  EXPECT_THROW(static_cast<void>(client.read(values)), LaunchFailed);
}

TEST(Launch, ADynamicCountIsReadWhenTheLaunchRuns) {
  const Client client = new_device();
  std::atomic<int> calls{0};
  const Kernel kernel("count", [&](const KernelContext& at) {
    EXPECT_EQ(at.grid(), (Dim3{2, 3, 1}));
    ++calls;
  });
  const Handle count = zeros(client, 16);
  const std::vector<std::uint32_t> extent{2, 3, 1};
  client.write(count.slice(0, 12), Bytes::copy_of<std::uint32_t>(extent));
  client.launch(kernel, Count::dynamic(count), {});
  client.write(count, Bytes(16));
  client.sync();
  EXPECT_EQ(calls.load(), 6);
}

TEST(Launch, ADynamicCountOfZeroRunsNothingAndASmallBufferIsRefused) {
  const Client client = new_device();
  std::atomic<int> calls{0};
  const Kernel kernel("count", [&](const KernelContext&) { ++calls; });
  client.launch(kernel, Count::dynamic(zeros(client, 12)), {});
  client.sync();
  EXPECT_EQ(calls.load(), 0);
  EXPECT_THROW(Count::dynamic(client.empty(11)), UsageError);
  EXPECT_THROW(Count::dynamic(Handle()), UsageError);
  EXPECT_THROW(client.launch(kernel, Count::dynamic(new_device().empty(12)), {}), ForeignHandle);
}

TEST(Launch, ATaintedDynamicCountTaintsWhatTheKernelWrites) {
  const Client client = new_device({.memory_limit_bytes = 4 << 20});
  const Handle out = client.empty(8);
  client.launch(Kernel("never", [](const KernelContext&) { FAIL(); }), Count::dynamic(client.empty(8 << 20)),
                {Argument::out(out)});
  EXPECT_THROW(static_cast<void>(client.read(out)), OutOfMemory);
}

TEST(Compilation, HappensOncePerIdAndDevice) {
  const Client client = new_device(), other = new_device();
  std::atomic<int> compiled{0};
  const auto kernel = [&](std::string variant) {
    return Kernel({"made", std::move(variant)}, [&](const TargetProperties& target) -> Kernel::Body {
      EXPECT_FALSE(target.architecture.empty());
      ++compiled;
      return [](const KernelContext&) {};
    });
  };
  for (int i = 0; i < 3; ++i) client.launch(kernel("a"), 1, {});
  client.sync();
  EXPECT_EQ(compiled.load(), 1);
  client.launch(kernel("b"), 1, {});
  client.sync();
  EXPECT_EQ(compiled.load(), 2);
  other.launch(kernel("a"), 1, {});
  other.sync();
  EXPECT_EQ(compiled.load(), 3);
}

TEST(Compilation, AFailureTaintsWhatTheKernelWouldHaveWritten) {
  const Client client = new_device();
  const Kernel kernel({"bad", ""}, [](const TargetProperties&) -> Kernel::Body { throw std::runtime_error("line 3"); });
  const Handle in = client.create(Bytes(8)), out = client.empty(8);
  client.launch(kernel, 1, {Argument::in(in), Argument::out(out)});
  try {
    static_cast<void>(client.read(out));
    FAIL();
  } catch (const CompileFailed& error) {
    EXPECT_EQ(error.kernel(), "bad");
    EXPECT_NE(std::string(error.what()).find("line 3"), std::string::npos);
  }
  EXPECT_NO_THROW(static_cast<void>(client.read(in)));
}

TEST(LaunchModes, CompileOnlyQueuesAndCompileQueuedCompilesInParallelBeforeLaterWork) {
  const Client client = new_device();
  std::atomic<int> compiled{0}, ran{0};
  const auto kernel = [&](int i) {
    return Kernel({"queued", std::to_string(i)}, [&](const TargetProperties&) -> Kernel::Body {
      ++compiled;
      return [&](const KernelContext&) { ++ran; };
    });
  };
  client.with_launch_mode(LaunchMode::compile_only, [&] {
    for (int i = 0; i < 20; ++i) client.launch(kernel(i % 10), 1, {});
  });
  client.sync();
  EXPECT_EQ(compiled.load(), 0) << "queued, not compiled";
  client.compile_queued();
  int compiled_before_launch = 0;
  client.launch(Kernel("look", [&](const KernelContext&) { compiled_before_launch = compiled.load(); }), 1, {});
  client.sync();
  EXPECT_EQ(compiled_before_launch, 10);
  EXPECT_EQ(ran.load(), 0);
  client.launch(kernel(3), 1, {});
  client.sync();
  EXPECT_EQ(compiled.load(), 10);
  EXPECT_EQ(ran.load(), 1);
}

TEST(LaunchModes, AreDecidedWhereTheLaunchIsIssuedAndHoldForOneStream) {
  const Client client = new_device();
  std::atomic<int> ran{0};
  const Kernel kernel("count", [&](const KernelContext&) { ++ran; });
  EXPECT_THROW(client.with_launch_mode(LaunchMode::discard,
                                       [&] {
                                         client.launch(kernel, 1, {});
                                         std::thread([&] { client.launch(kernel, 1, {}); }).join();
                                         EXPECT_THROW(client.launch(kernel, 1, {Argument::in(new_device().empty(4))}),
                                                      ForeignHandle);
                                         throw std::runtime_error("left");
                                       }),
               std::runtime_error);
  client.launch(kernel, 1, {});
  client.sync();
  while (ran.load() != 2) client.flush();
  EXPECT_EQ(client.launch_mode(LaunchMode::run), LaunchMode::run);
}

/// Keeps what it is told.
class Keeper final : public LaunchObserver {
 public:
  explicit Keeper(bool timing) : timing_(timing) {}
  bool wants_timing(const KernelId&) override { return timing_; }
  void launched(const LaunchRecord& record) override {
    const std::lock_guard lock(mutex_);
    records_.push_back(record);
  }
  std::vector<LaunchRecord> records() {
    const std::lock_guard lock(mutex_);
    return records_;
  }

 private:
  bool timing_;
  std::mutex mutex_;
  std::vector<LaunchRecord> records_;
};

TEST(LaunchObservers, AreToldOfLaunchesWithTheirTimingWhereTheyWantIt) {
  const Client client = new_device();
  const auto timed = std::make_shared<Keeper>(true), names = std::make_shared<Keeper>(false);
  client.add_launch_observer(names);
  client.launch(Kernel("first", [](const KernelContext&) {}), 1, {});
  client.sync();
  ASSERT_EQ(names->records().size(), 1U);
  EXPECT_FALSE(names->records()[0].duration);
  client.add_launch_observer(timed);
  const Handle out = client.empty(8);
  client.launch(Kernel("second", [](const KernelContext&) { throw std::runtime_error("fails"); }), {3, 2},
                {Argument::out(out)});
  client.sync();
  ASSERT_EQ(timed->records().size(), 1U);
  EXPECT_EQ(timed->records()[0].kernel.name, "second");
  EXPECT_EQ(timed->records()[0].count, (Dim3{3, 2, 1}));
  EXPECT_EQ(timed->records()[0].buffer_bytes, std::vector<std::size_t>{8});
  ASSERT_TRUE(timed->records()[0].duration) << "one that failed is told too";
  EXPECT_EQ(names->records()[1].duration, timed->records()[0].duration) << "one measurement serves all";
}

TEST(LaunchObservers, AreForgottenWhenTheyEnd) {
  const Client client = new_device();
  client.add_launch_observer(std::make_shared<Keeper>(true));
  for (const auto level : {ProfilingLevel::executions, ProfilingLevel::full, ProfilingLevel::off}) {
    client.profiling_level(level);
    client.launch(Kernel("logged", [](const KernelContext&) {}), 1, {});
    EXPECT_NO_THROW(client.sync());
  }
}

TEST(Peers, AreOtherDevicesOfTheBackendThatShare) {
  const Client client = new_device(), other = new_device(), isolated = new_device({.peers = PeerAccess::isolated});
  EXPECT_TRUE(client.can_access_peer(other));
  EXPECT_FALSE(client.can_access_peer(client));
  EXPECT_FALSE(client.can_access_peer(isolated));
  EXPECT_FALSE(isolated.can_access_peer(client));
}

TEST(Peers, KernelsOfTwoDevicesHandOffThroughSystemScopeAtomics) {
  const Client first = new_device(), second = new_device();
  constexpr std::uint32_t rounds = 100;
  const PeerHandle turn = first.share_with_peers(zeros(first, 4)), counter = second.share_with_peers(zeros(second, 8));
  second.sync();
  first.sync();
  const Kernel kernel(take_turns, {1, 1, 1});
  const auto launch = [&](const Client& client, std::int64_t me) {
    client.launch(
        kernel, 1,
        {Argument::peer(turn), Argument::peer(counter), Argument::scalar(me), Argument::scalar(std::int64_t{rounds})});
  };
  // The second waits for the first, which nobody waits for: both were flushed at once.
  launch(second, 1);
  launch(first, 0);
  const Deadline deadline = Deadline::after(std::chrono::seconds(60));
  second.sync(deadline);
  first.sync(deadline);
  std::uint64_t counted = 0;
  std::memcpy(&counted, memory_of(counter).address, sizeof counted);
  EXPECT_EQ(counted, 2 * rounds);
}

TEST(Peers, SharedMemoryStaysInPlaceWhileTheHandleLives) {
  const Client client = new_device(), peer = new_device();
  PeerHandle shared;
  {
    const Handle handle = client.create_from_slice<float>(wave(10));
    const Bytes before = client.read_lazy(handle);
    shared = client.share_with_peers(handle);
    client.write(handle, Bytes::copy_of<float>(std::vector<float>(10, 5.0F)));
    client.sync();
    EXPECT_EQ(before.as<float>()[1], wave(10)[1]);
  }
  for (int i = 0; i < 100; ++i) client.write(client.empty(40), Bytes(40));
  const Handle out = peer.empty(40);
  peer.launch(kernels::add(), 1, {Argument::peer(shared), Argument::peer(shared), Argument::out(out), count_of(10)});
  EXPECT_EQ(read<float>(peer, out), std::vector<float>(10, 10.0F));
}

TEST(Peers, RefuseWhatCannotBeReached) {
  const Client client = new_device({.memory_limit_bytes = 4 << 20}), isolated = new_device({.peers = PeerAccess::isolated});
  EXPECT_THROW(static_cast<void>(isolated.share_with_peers(isolated.empty(8))), NoDeviceTransport);
  EXPECT_THROW(static_cast<void>(client.share_with_peers(isolated.empty(8))), ForeignHandle);
  EXPECT_THROW(static_cast<void>(client.share_with_peers(client.empty(8 << 20))), OutOfMemory);
  const PeerHandle shared = client.share_with_peers(client.empty(8));
  const Handle out = isolated.empty(8);
  EXPECT_THROW(isolated.launch(kernels::fill(), 1, {Argument::peer(shared), Argument::scalar(1.0), count_of(2)}),
               UsageError);
  EXPECT_THROW(client.launch(kernels::fill(), 1, {Argument::peer(PeerHandle()), Argument::scalar(1.0), count_of(2)}),
               UsageError);
}

TEST(Peers, OnTheOwnerItIsAPlainBuffer) {
  const Client client = new_device();
  const Handle handle = client.empty(8);
  const PeerHandle shared = client.share_with_peers(handle);
  client.launch(kernels::fill(), 1, {Argument::peer(shared, Access::write), Argument::scalar(3.0), count_of(2)});
  EXPECT_EQ(read<float>(client, handle), (std::vector<float>{3, 3})) << "ordered as any write of the buffer";
}

}  // namespace
}  // namespace muster
