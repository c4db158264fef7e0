// Memory of Client: layouts, lazy reads, staging, windows and reports.

#include <gtest/gtest.h>

#include <muster/client.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>

#include "support/fresh_device.hpp"

namespace muster {
namespace {

using test::new_device;

std::vector<float> iota(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}
Bytes floats(std::initializer_list<float> values) {
  return Bytes::copy_of(std::span<const float>(values.begin(), values.size()));
}
std::vector<float> values_of(const Bytes& bytes) {
  const auto span = bytes.as<float>();
  return {span.begin(), span.end()};
}

TEST(Tensors, RowsArePaddedByThePolicyAndReadBackPacked) {
  for (const LayoutPolicy policy : {LayoutPolicy::contiguous, LayoutPolicy::optimized}) {
    const Client client = new_device({.layout = policy});
    const auto values = iota(2 * 3 * 5);
    const MemoryLayout tensor = client.create_tensor_from_slice<float>(values, {2, 3, 5});
    EXPECT_EQ(tensor.strides[1], policy == LayoutPolicy::optimized ? 8U : 5U);
    EXPECT_EQ(values_of(client.read_tensor({tensor.handle, {2, 3, 5}, tensor.strides, 4})), values);
  }
}

TEST(Tensors, MadeTogetherShareOneAllocation) {
  const Client client = new_device();
  std::vector<TensorData> data;
  data.push_back({floats({1, 2, 3, 4, 5, 6}), {2, 3}, 4});
  data.push_back({Bytes(), {0, 4}, 8});
  data.push_back({floats({7}), {}, 4});
  const auto tensors = client.create_tensors(std::move(data));
  EXPECT_EQ(tensors[0].handle.allocation(), tensors[2].handle.allocation());
  EXPECT_FALSE(tensors[0].handle.overlaps(tensors[2].handle));
  EXPECT_EQ(client.memory_report().pools[0].allocations, 1U);
  EXPECT_EQ(values_of(client.read(tensors[0].handle)), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values_of(client.read(tensors[2].handle)), (std::vector<float>{7}));
  EXPECT_FALSE(tensors[0].handle.can_mut()) << "another tensor holds the same allocation";
}

TEST(Tensors, RefuseBytesThatDoNotFillTheShape) {
  const Client client = new_device();
  EXPECT_THROW(static_cast<void>(client.create_tensor(floats({1, 2, 3}), {2, 2}, 4)), UsageError);
  EXPECT_THROW(static_cast<void>(client.create_tensor(floats({1, 2, 3}), {3}, 0)), UsageError);
}

TEST(Tensors, RefuseAReadOfStridesThatAreNotRows) {
  const Client client = new_device();
  const Handle handle = client.empty(64);
  EXPECT_THROW(static_cast<void>(client.read_tensor({handle, {2, 2}, {1, 2}, 4})), UsageError);
  EXPECT_THROW(static_cast<void>(client.read_tensor({handle, {5, 4}, {4, 1}, 4})), UsageError) << "larger than the handle";
  EXPECT_THROW(static_cast<void>(client.read_tensor({new_device().empty(64), {4}, {1}, 4})), ForeignHandle);
}

TEST(CanMut, CountsTheHandlesOfTheProgramNotQueuedWork) {
  const Client client = new_device();
  const Handle handle = client.create(Bytes(1000));
  EXPECT_TRUE(handle.can_mut()) << "the write that is queued does not count";
  {
    const Handle copy = handle;
    EXPECT_FALSE(handle.can_mut());
    EXPECT_FALSE(copy.can_mut());
  }
  EXPECT_TRUE(handle.can_mut());
  {
    const Handle part = handle.slice(0, 10);
    EXPECT_FALSE(handle.can_mut());
  }
  EXPECT_TRUE(handle.can_mut());
  EXPECT_FALSE(handle.for_work().can_mut());
  EXPECT_FALSE(Handle().can_mut());
}

TEST(LazyRead, HoldsTheDataOfTheCallWhateverIsWrittenLater) {
  const Client client = new_device();
  const Handle handle = client.create(floats({1, 2, 3, 4}));
  const Bytes before = client.read_lazy(handle);
  client.write(handle.slice(4, 4), floats({20}));
  const Bytes between = client.read_lazy(handle);
  client.write(handle, floats({5, 6, 7, 8}));
  const Bytes part = client.read_lazy(handle.slice(8, 8));
  client.write(handle.slice(8, 8), floats({0, 0}));
  EXPECT_EQ(values_of(before), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(values_of(between), (std::vector<float>{1, 20, 3, 4}));
  EXPECT_EQ(values_of(part), (std::vector<float>{7, 8}));
  EXPECT_EQ(values_of(client.read(handle)), (std::vector<float>{5, 6, 0, 0}));
}

TEST(LazyRead, ItsMemoryStaysAsItWasAfterTheAccessToo) {
  const Client client = new_device();
  const Handle handle = client.create(floats({1, 2}));
  const Bytes lazy = client.read_lazy(handle);
  const auto view = lazy.as<float>();
  client.write(handle, floats({3, 4}));
  client.sync();
  EXPECT_EQ(view[0], 1.0F);
  EXPECT_EQ(view[1], 2.0F);
}

TEST(LazyRead, NeedsNoCopyOnAHostDevice) {
  const Client client = new_device();
  const Handle handle = client.create(Bytes::copy_of<float>(iota(1 << 20)));
  const Bytes lazy = client.read_lazy(handle);
  EXPECT_EQ(lazy.kind(), BytesKind::device);
  EXPECT_EQ(values_of(lazy), iota(1 << 20));
  EXPECT_EQ(lazy.data(), memory_of(handle).address);
}

TEST(LazyRead, KeepsTheHandleUntilDroppedOrCopiedForChange) {
  const Client client = new_device();
  const Handle handle = client.create(floats({1, 2}));
  {
    const Bytes lazy = client.read_lazy(handle);
    EXPECT_FALSE(handle.can_mut());
  }
  EXPECT_TRUE(handle.can_mut());
  Bytes changed = client.read_lazy(handle);
  changed.as<float>()[0] = 10;
  EXPECT_EQ(changed.kind(), BytesKind::owned);
  EXPECT_TRUE(handle.can_mut());
  EXPECT_EQ(values_of(changed), (std::vector<float>{10, 2}));
  EXPECT_EQ(values_of(client.read(handle)), (std::vector<float>{1, 2}));
}

TEST(LazyRead, OutlivesTheHandle) {
  const Client client = new_device();
  Bytes lazy;
  {
    const Handle handle = client.create(floats({1, 2}));
    lazy = client.read_lazy(handle);
  }
  for (int i = 0; i < 100; ++i) client.write(client.empty(8), Bytes(8));
  client.sync();
  EXPECT_EQ(values_of(lazy), (std::vector<float>{1, 2}));
}

TEST(LazyRead, ReportsTheFailureAtTheFirstAccess) {
  const Client client = new_device({.memory_limit_bytes = 4 << 20});
  const Handle failed = client.empty(8 << 20);
  const Bytes lazy = client.read_lazy(failed);
  EXPECT_EQ(lazy.size(), std::size_t{8} << 20U);
  EXPECT_THROW(static_cast<void>(lazy.data()), OutOfMemory);
  auto checked = client.read_lazy_async(failed);
  EXPECT_THROW(static_cast<void>(checked.get()), OutOfMemory);
}

TEST(LazyRead, AsynchronousOnesAreReadyOnceChecked) {
  const Client client = new_device();
  const Handle handle = client.create(floats({1, 2}));
  const Bytes bytes = client.read_lazy_async(handle).get();
  EXPECT_TRUE(bytes.ready());
  EXPECT_FALSE(handle.can_mut());
  client.write(handle, floats({3, 4}));
  EXPECT_EQ(values_of(bytes), (std::vector<float>{1, 2}));
}

TEST(LazyRead, MayBeWrittenToADeviceWithoutBeingAccessed) {
  const Client client = new_device(), other = new_device();
  const Handle source = client.create(floats({1, 2}));
  const Handle copy = client.create(client.read_lazy(source)), abroad = other.create(client.read_lazy(source));
  client.write(source, floats({3, 4}));
  EXPECT_EQ(values_of(client.read(copy)), (std::vector<float>{1, 2}));
  EXPECT_EQ(values_of(other.read(abroad)), (std::vector<float>{1, 2}));
}

TEST(LazyRead, AWriteThatFindsNoMemoryToKeepItFailsAndTheReadStays) {
  const Client client = new_device({.memory_limit_bytes = 40 << 20});
  const Handle handle = client.create(Bytes::copy_of<std::byte>(std::vector<std::byte>(30 << 20, std::byte{7})));
  const Bytes lazy = client.read_lazy(handle);
  client.write(handle, Bytes(30 << 20));
  EXPECT_THROW(client.sync_buffers(std::span<const Handle>(&handle, 1)), OutOfMemory);
  EXPECT_EQ(lazy.as<std::byte>()[0], std::byte{7});
}

TEST(Read, SeveralBuffersComeTogetherAndEachFailureOnce) {
  const Client client = new_device({.memory_limit_bytes = 4 << 20});
  const std::vector<Handle> good{client.create(floats({1})), client.create(floats({2, 3}))};
  const auto bytes = client.read(good);
  EXPECT_EQ(values_of(bytes[1]), (std::vector<float>{2, 3}));
  const Handle first = client.empty(8 << 20), second = client.empty(8 << 20);
  EXPECT_THROW(static_cast<void>(client.read(std::vector<Handle>{good[0], first, first})), OutOfMemory);
  try {
    static_cast<void>(client.read(std::vector<Handle>{first, second, first}));
    FAIL();
  } catch (const Several& several) {
    EXPECT_EQ(several.failures().size(), 2U);
  }
}

TEST(Resource, IsTheMemoryAndStaysInPlace) {
  const Client client = new_device();
  const Handle handle = client.create(floats({1, 2}));
  const Bytes lazy = client.read_lazy(handle);
  const auto resource = client.get_resource<HostResource>(handle);
  ASSERT_EQ(resource.size, 8U);
  const Bytes later = client.read_lazy(handle);
  client.write(handle, floats({3, 4}));
  client.sync();
  float first = 0;
  std::memcpy(&first, resource.data, 4);
  EXPECT_EQ(first, 3.0F) << "the buffer moved away from the address that was given out";
  EXPECT_EQ(values_of(lazy), (std::vector<float>{1, 2}));
  EXPECT_EQ(values_of(later), (std::vector<float>{1, 2}));
}

struct GpuResource {
  static constexpr Backend backend = Backend::cuda;
  std::byte* data;
  std::size_t size;
};

TEST(Resource, RefusesAnotherBackendForeignHandlesAndFailures) {
  const Client client = new_device({.memory_limit_bytes = 4 << 20});
  EXPECT_THROW(static_cast<void>(client.get_resource<GpuResource>(client.empty(8))), ServiceMismatch);
  EXPECT_THROW(static_cast<void>(client.get_resource<HostResource>(new_device().empty(8))), ForeignHandle);
  EXPECT_THROW(static_cast<void>(client.get_resource<HostResource>(client.empty(8 << 20))), OutOfMemory);
}

TEST(Staging, MovesOwnedBytesOnceAndLeavesTheOthers) {
  const Client client = new_device();
  std::vector<Bytes> bytes;
  bytes.push_back(floats({1, 2}));
  bytes.push_back(client.read_lazy(client.create(floats({3}))));
  bytes.emplace_back();
  EXPECT_EQ(client.staging(bytes, StagingScope::files_only), 0U);
  const PinnedMemory before = client.memory_report().pinned;
  const std::size_t moved = client.staging(bytes);
  const PinnedMemory after = client.memory_report().pinned;
  EXPECT_EQ(after.in_use_bytes > before.in_use_bytes, moved == 1) << "locked memory is counted";
  EXPECT_LE(after.reserved_bytes, after.limit_bytes);
  EXPECT_EQ(bytes[0].kind(), moved == 1 ? BytesKind::pinned : BytesKind::owned);
  EXPECT_EQ(bytes[1].kind(), BytesKind::device);
  EXPECT_EQ(values_of(bytes[0]), (std::vector<float>{1, 2}));
  EXPECT_EQ(client.staging(bytes), 0U);
  const Handle handle = client.create(std::move(bytes[0]));
  EXPECT_EQ(values_of(client.read(handle)), (std::vector<float>{1, 2}));
}

TEST(Staging, ChangesNothingWhereTheLimitIsReached) {
  const Client client = new_device();
  std::vector<Bytes> bytes;
  // More than any system lets a process lock: the content is not touched, so the size is only asked for.
  class Vast final : public BytesSource {
   public:
    [[nodiscard]] BytesKind kind() const noexcept override { return BytesKind::file; }
    [[nodiscard]] const std::byte* data() override { return nullptr; }
  };
  bytes.push_back(Bytes(std::make_unique<Vast>(), std::size_t{1} << 45U));
  client.staging(bytes);
  EXPECT_EQ(bytes[0].kind(), BytesKind::file);
  EXPECT_EQ(bytes[0].size(), std::size_t{1} << 45U);
}

TEST(FileBytes, AreMappedStagedAndRefusedWhereTheFileIsShorter) {
  const std::string path = testing::TempDir() + "muster_bytes";
  std::ofstream(path) << "0123456789";
  Bytes bytes = Bytes::of_file(path, 3, 4);
  EXPECT_EQ(std::memcmp(std::as_const(bytes).data(), "3456", 4), 0);
  const Client client = new_device();
  client.staging(std::span<Bytes>(&bytes, 1), StagingScope::files_only);
  EXPECT_EQ(std::memcmp(std::as_const(bytes).data(), "3456", 4), 0);
  try {
    Bytes::of_file(path, 3, 8);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("10 bytes"), std::string::npos);
  }
  std::remove(path.c_str());
  EXPECT_THROW(Bytes::of_file(path, 0, 1), UsageError);
}

PoolReport pool_of(const MemoryReport& report, PoolKind kind) {
  for (const PoolReport& pool : report.pools) {
    if (pool.kind == kind) return pool;
  }
  return {};
}

TEST(AllocationWindows, ReturnToTheModeBeforeAlsoWhenTheFunctionThrows) {
  const Client client = new_device();
  Handle kept = client.memory_persistent_allocation([&] { return client.empty(1000); });
  EXPECT_EQ(pool_of(client.memory_report(), PoolKind::persistent).allocations, 1U);
  const Handle usual = client.empty(1000);
  EXPECT_EQ(pool_of(client.memory_report(), PoolKind::small).allocations, 1U);
  EXPECT_THROW(client.memory_dedicated_allocation([&] {
    const Handle own = client.empty(1000);
    const MemoryReport report = client.memory_report();
    EXPECT_EQ(report.in_use_bytes(), std::size_t{2} * 1024) << "dedicated memory is in no statistics";
    client.memory_persistent_allocation(
        [&] { EXPECT_EQ(client.allocation_mode(AllocationMode::persistent), AllocationMode::persistent); });
    EXPECT_EQ(client.allocation_mode(AllocationMode::dedicated), AllocationMode::dedicated);
    throw std::runtime_error("left");
  }),
               std::runtime_error);
  EXPECT_EQ(client.allocation_mode(AllocationMode::pooled), AllocationMode::pooled);
}

TEST(AllocationWindows, HoldForTheStreamThatOpenedThemOnly) {
  const Client client = new_device();
  client.memory_persistent_allocation([&] {
    std::thread([&] {
      const Handle elsewhere = client.empty(1000);
      EXPECT_EQ(pool_of(client.memory_report(), PoolKind::persistent).allocations, 0U);
    }).join();
  });
}

TEST(MemoryReport, CountsPerPoolAndPerStream) {
  const Client client = new_device();
  const Handle small = client.empty(100), large = client.empty(1 << 20), exclusive = client.empty(20 << 20);
  Client pinned = client;
  pinned.set_stream({77});
  const Handle elsewhere = pinned.empty(1000);
  const MemoryReport report = client.memory_report(), own = client.memory_report(MemoryScope::current_stream);
  EXPECT_EQ(pool_of(report, PoolKind::small).allocations, 2U);
  EXPECT_EQ(pool_of(report, PoolKind::large).in_use_bytes, std::size_t{1} << 20U);
  EXPECT_GE(pool_of(report, PoolKind::exclusive).reserved_bytes, std::size_t{20} << 20U);
  EXPECT_EQ(report.in_use_bytes(), own.in_use_bytes() + 1024);
  EXPECT_EQ(pinned.memory_report(MemoryScope::current_stream).in_use_bytes(), 1024U);
  EXPECT_GE(report.reserved_bytes(), report.in_use_bytes());
}

TEST(MemoryReport, KeepsTheHighWaterMark) {
  const Client client = new_device();
  { const Handle large = client.empty(1 << 20); }
  const MemoryReport report = client.memory_report();
  EXPECT_EQ(pool_of(report, PoolKind::large).in_use_bytes, 0U);
  EXPECT_EQ(pool_of(report, PoolKind::large).high_water_bytes, std::size_t{1} << 20U);
}

TEST(MemoryCleanup, ReturnsWhatNothingUses) {
  const Client client = new_device();
  const Handle kept = client.empty(100);
  { const Handle large = client.empty(64 << 20); }
  EXPECT_GE(client.memory_report().reserved_bytes(), std::size_t{64} << 20U);
  client.memory_cleanup();
  EXPECT_LT(client.memory_report().reserved_bytes(), std::size_t{4} << 20U);
}

TEST(Memory, RandomAllocationsOfRealPagesStayWithinOneAndAHalfTimesThePeak) {
  const Client client = new_device({.memory_limit_bytes = std::size_t{1} << 30U});
  std::mt19937_64 random(3);
  std::vector<Handle> held;
  std::size_t in_use = 0, peak = 0, most_reserved = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t size = std::size_t{1} << random() % 24U;
    if (in_use + size > (std::size_t{300} << 20U) || (!held.empty() && random() % 2 == 0)) {
      std::swap(held[random() % held.size()], held.back());
      in_use -= held.back().size();
      held.pop_back();
    } else {
      held.push_back(client.empty(size));
      in_use += size;
      peak = std::max(peak, in_use);
    }
    if (i % 100 == 0) most_reserved = std::max(most_reserved, client.memory_report().reserved_bytes());
  }
  EXPECT_NO_THROW(client.sync_buffers(held));
  EXPECT_LT(static_cast<double>(most_reserved), 1.5 * static_cast<double>(peak));
}

TEST(Properties, AreThoseOfTheMachineAndComputedOnce) {
  const Client client = new_device({.memory_limit_bytes = 1 << 20});
  EXPECT_EQ(&client.properties(), &client.properties());
  EXPECT_GE(client.properties().cores, 1);
  EXPECT_EQ(client.properties().memory_limit_bytes, std::size_t{1} << 20U);
  EXPECT_TRUE(client.features().host_reads_memory);
  EXPECT_EQ(client.features().dtypes.size(), all_dtypes.size());
  EXPECT_FALSE(client.target_properties().architecture.empty());
  EXPECT_EQ(client.hardware_identity(), new_device().hardware_identity());
}

}  // namespace
}  // namespace muster
