// Graphs: recording, replay, what is refused meanwhile.

#include <gtest/gtest.h>

#include <muster/client.hpp>
#include <muster/kernels.hpp>

#include <atomic>
#include <thread>

#include "support/fresh_device.hpp"

namespace muster {
namespace {

using test::new_device;

Argument count_of(std::uint64_t n) { return Argument::scalar(static_cast<std::int64_t>(n)); }
Bytes floats(std::initializer_list<float> values) {
  return Bytes::copy_of(std::span<const float>(values.begin(), values.size()));
}
std::vector<float> read(const Client& client, const Handle& handle) {
  const Bytes bytes = client.read(handle);
  const auto span = bytes.as<float>();
  return {span.begin(), span.end()};
}
/// out = 2 * in + 1, through a buffer that the graph allocates itself.
void affine(const Client& client, const Handle& in, const Handle& out) {
  const std::uint64_t n = in.size() / 4;
  const Handle twice = client.empty(in.size());
  const auto blocks = kernels::blocks_for(kernels::add(), n);
  client.launch(kernels::add(), blocks, {Argument::in(in), Argument::in(in), Argument::out(twice), count_of(n)});
  client.launch(kernels::fill(), blocks, {Argument::out(out), Argument::scalar(1.0), count_of(n)});
  client.launch(kernels::axpy(), blocks, {Argument::in(twice), Argument::in_out(out), Argument::scalar(1.0), count_of(n)});
}
Graph record(const Client& client, const std::function<void()>& work) {
  client.graph_prepare();
  work();
  client.start_capture();
  work();
  return client.stop_capture();
}

TEST(Graph, ReplaysWhatWasRecordedOnInputsWrittenInBetween) {
  const Client client = new_device();
  const Handle in = client.create(floats({0, 0})), out = client.empty(8);
  const Graph graph = record(client, [&] { affine(client, in, out); });
  EXPECT_EQ(graph.size(), 3U);
  client.write(out, floats({-1, -1}));
  for (const float x : {1.0F, 2.0F, 3.0F}) {
    client.write(in, floats({x, 10 * x}));
    graph.replay();
    EXPECT_EQ(read(client, out), (std::vector<float>{2 * x + 1, 20 * x + 1}));
  }
}

TEST(Graph, RecordingRunsNothing) {
  const Client client = new_device();
  std::atomic<int> runs{0};
  const Kernel kernel("count", [&](const KernelContext&) { ++runs; });
  client.start_capture();
  for (int i = 0; i < 5; ++i) client.launch(kernel, 1, {});
  const Graph graph = client.stop_capture();
  client.sync();
  EXPECT_EQ(runs.load(), 0);
  for (int i = 0; i < 3; ++i) graph.replay();
  client.sync();
  EXPECT_EQ(runs.load(), 15);
}

TEST(Graph, OutlivesItsHandlesAndEndsAfterItsReplays) {
  const Client client = new_device();
  const Handle out = client.empty(4000);
  {
    const Handle in = client.create(Bytes::copy_of<float>(std::vector<float>(1000, 4.0F)));
    const Graph graph = record(client, [&] { affine(client, in, out); });
    for (int i = 0; i < 10; ++i) graph.replay();
  }
  EXPECT_EQ(read(client, out), std::vector<float>(1000, 9.0F));
  client.sync();
  EXPECT_LE(client.memory_report().in_use_bytes(), std::size_t{2} * 4096) << "an ended graph holds memory";
}

TEST(Graph, RefusesReadsSyncsAndCleanupWhileItRecords) {
  const Client client = new_device();
  const Handle handle = client.create(floats({1}));
  const std::span<const Handle> handles(&handle, 1);
  client.start_capture();
  EXPECT_THROW(static_cast<void>(client.read(handle)), UsageError);
  EXPECT_THROW(static_cast<void>(client.read(handles)), UsageError);
  EXPECT_THROW(static_cast<void>(client.read_async(handle)), UsageError);
  EXPECT_THROW(static_cast<void>(client.read_tensor({handle, {1}, {1}, 4})), UsageError);
  EXPECT_THROW(static_cast<void>(client.read_lazy(handle)), UsageError);
  EXPECT_THROW(static_cast<void>(client.read_lazy_async(handle)), UsageError);
  EXPECT_THROW(client.sync(), UsageError);
  EXPECT_THROW(client.sync_buffers(handles), UsageError);
  EXPECT_THROW(client.memory_cleanup(), UsageError);
  EXPECT_THROW(client.graph_prepare(), UsageError);
  std::thread([&] {
    EXPECT_FALSE(client.is_capturing());
    EXPECT_NO_THROW(client.sync());
    EXPECT_THROW(client.memory_cleanup(), UsageError) << "of any stream of the device";
  }).join();
  static_cast<void>(client.stop_capture());
  EXPECT_NO_THROW(client.memory_cleanup());
}

TEST(Graph, AHostWriteFailsTheCaptureAndIsNotSkippedSilently) {
  const Client client = new_device();
  const Handle in = client.create(floats({1})), out = client.empty(4);
  client.start_capture();
  affine(client, in, out);
  client.write(in, floats({2}));
  EXPECT_THROW(static_cast<void>(client.stop_capture()), CaptureFailed);
  EXPECT_FALSE(client.is_capturing());
  EXPECT_THROW(static_cast<void>(client.read(in)), CaptureFailed) << "what was not written says so";
  client.write(in, floats({2}));
  EXPECT_EQ(read(client, in), std::vector<float>{2});
}

TEST(Graph, CreatingABufferWithContentFailsTheCapture) {
  const Client client = new_device();
  client.graph_prepare();
  client.start_capture();
  const Handle made = client.create(floats({1}));
  EXPECT_THROW(static_cast<void>(client.stop_capture()), Error);
  EXPECT_THROW(static_cast<void>(client.read(made)), Error);
}

TEST(Graph, AnAllocationBeyondTheWarmUpFailsTheCapture) {
  const Client client = new_device();
  client.start_capture();
  const Handle large = client.empty(30 << 20);
  EXPECT_THROW(static_cast<void>(client.stop_capture()), OutOfMemory);
  EXPECT_THROW(client.check(std::span<const Handle>(&large, 1)), OutOfMemory);
  const Handle later = client.empty(30 << 20);
  EXPECT_NO_THROW(client.check(std::span<const Handle>(&later, 1)));
}

TEST(Graph, TheWarmUpReservesWhatRecordingTakes) {
  const Client client = new_device();
  const Handle out = client.empty(20 << 20);
  // Each step drops its buffer before the next: the warm-up alone would reserve one, the graph keeps five.
  const auto steps = [&] {
    for (int i = 0; i < 5; ++i) {
      const Handle step = client.empty(20 << 20);
      client.copy(out, step);
      client.copy(step, out);
    }
  };
  EXPECT_NO_THROW(static_cast<void>(record(client, steps)));
}

TEST(Graph, AStartThatIsRefusedLeavesTheCaptureAsItWas) {
  const Client client = new_device();
  const Handle in = client.create(floats({1})), out = client.empty(4);
  client.graph_prepare();
  affine(client, in, out);
  client.start_capture();
  affine(client, in, out);
  EXPECT_THROW(client.start_capture(), UsageError);
  EXPECT_TRUE(client.is_capturing());
  EXPECT_EQ(client.stop_capture().size(), 3U);
  EXPECT_THROW(static_cast<void>(client.stop_capture()), UsageError);
}

TEST(Graph, IsRefusedAReplayWhileItsStreamRecords) {
  const Client client = new_device();
  client.start_capture();
  const Graph graph = client.stop_capture();
  client.start_capture();
  EXPECT_THROW(graph.replay(), UsageError);
  static_cast<void>(client.stop_capture());
  EXPECT_NO_THROW(graph.replay());
}

TEST(Graph, FailuresInsideFollowTheDataAndAReplayOnGoodDataClearsThem) {
  const Client client = new_device();
  const Handle in = client.create(floats({1})), mid = client.empty(4), out = client.empty(4), other = client.empty(4);
  const Kernel picky("picky", [](const KernelContext& at) {
    if (at.buffer<float>(0)[0] < 0) throw std::runtime_error("negative");
    at.buffer<float>(1)[0] = at.buffer<float>(0)[0];
  });
  const Graph graph = record(client, [&] {
    client.launch(picky, 1, {Argument::in(in), Argument::out(mid)});
    client.copy(mid, out);
    client.launch(kernels::fill(), 1, {Argument::out(other), Argument::scalar(5.0), count_of(1)});
  });
  client.write(in, floats({-1}));
  graph.replay();
  EXPECT_THROW(static_cast<void>(client.read(out)), LaunchFailed);
  EXPECT_EQ(read(client, other), std::vector<float>{5}) << "what does not depend on it runs";
  client.write(in, floats({3}));
  graph.replay();
  EXPECT_EQ(read(client, out), std::vector<float>{3});
}

TEST(Graph, WorkOfOtherStreamsIsOrderedWithItsReplays) {
  const Client client = new_device();
  Client second = client;
  second.set_stream({1234});
  const Handle in = client.create(floats({1})), out = client.empty(4);
  const Graph graph = record(client, [&] { affine(client, in, out); });
  for (int i = 0; i < 200; ++i) {
    const auto x = static_cast<float>(i);
    second.write(in, floats({x}));
    graph.replay();
    const Bytes bytes = second.read(out);
    ASSERT_EQ(bytes.as<float>()[0], 2 * x + 1);
  }
}

TEST(Graph, LazyReadsOfItsBuffersKeepTheirData) {
  const Client client = new_device();
  const Handle in = client.create(floats({1})), out = client.create(floats({0}));
  const Bytes before = client.read_lazy(out);
  const Graph graph = record(client, [&] { affine(client, in, out); });
  graph.replay();
  const Bytes after = client.read_lazy(out);
  client.write(in, floats({10}));
  graph.replay();
  client.sync();
  EXPECT_EQ(before.as<float>()[0], 0.0F);
  EXPECT_EQ(after.as<float>()[0], 3.0F);
  EXPECT_EQ(read(client, out), std::vector<float>{21});
}

TEST(Graph, IsCapturingAnswersWithoutTheActor) {
  const Client client = new_device();
  std::atomic<bool> asked{false}, answer{false};
  client.start_capture();
  Client same_stream = client;
  same_stream.set_stream(client.stream());
  std::thread asker;
  // The actor is busy with this task while another thread asks.
  client.submit_blocking([&](DeviceContext&) {
    asker = std::thread([&] {
      answer = same_stream.is_capturing();
      asked = true;
    });
    asker.join();
  });
  EXPECT_TRUE(asked && answer);
  static_cast<void>(client.stop_capture());
}

}  // namespace
}  // namespace muster
