// The contract of Client, on one host device.

#include <gtest/gtest.h>

#include <muster/client.hpp>

#include <atomic>
#include <coroutine>
#include <cstring>
#include <numeric>
#include <thread>

#include "support/fresh_device.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;

using test::new_device;

std::vector<float> iota(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

const Kernel doubled("doubled", [](const KernelContext& at) {
  const auto in = at.buffer<float>(0), out = at.buffer<float>(1);
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = 2 * in[i];
});
const Kernel broken("broken", [](const KernelContext&) { throw std::runtime_error("the reason"); });

TEST(Client, ReadsBackWhatWasCreated) {
  const Client client = new_device();
  for (const std::size_t count : {0U, 1U, 1000U, 1'000'000U}) {
    const auto values = iota(count);
    const Handle handle = client.create_from_slice<float>(values);
    const Bytes bytes = client.read(handle);
    ASSERT_EQ(bytes.size(), count * sizeof(float));
    EXPECT_TRUE(count == 0 || std::memcmp(bytes.data(), values.data(), bytes.size()) == 0);
  }
}

TEST(Client, WritesIntoASliceInPlace) {
  const Client client = new_device();
  const Handle handle = client.create_from_slice<float>(iota(10));
  const std::vector<float> other{100, 200};
  client.write(handle.slice(8, 8), Bytes::copy_of<float>(other));
  const Bytes bytes = client.read(handle);
  EXPECT_EQ(bytes.as<float>()[1], 1.0F);
  EXPECT_EQ(bytes.as<float>()[2], 100.0F);
  EXPECT_EQ(bytes.as<float>()[3], 200.0F);
  EXPECT_EQ(bytes.as<float>()[4], 4.0F);
}

TEST(Client, RefusesAWriteOfAnotherSizeNamingBoth) {
  const Client client = new_device();
  const Handle handle = client.empty(10);
  try {
    client.write(handle, Bytes(11));
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("11"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("10"), std::string::npos);
  }
}

TEST(Client, RefusesASliceOutsideTheHandle) {
  const Client client = new_device();
  const Handle handle = client.empty(10);
  EXPECT_THROW(handle.slice(5, 6), UsageError);
  EXPECT_THROW(handle.slice(11, 0), UsageError);
  EXPECT_THROW(handle.slice(1, ~std::size_t{0}), UsageError);
}

TEST(Client, RefusesForeignAndEmptyHandlesAtTheCall) {
  const Client client = new_device(), other = new_device();
  const Handle foreign = other.empty(8);
  EXPECT_THROW(client.read(foreign), ForeignHandle);
  EXPECT_THROW(client.write(foreign, Bytes(8)), ForeignHandle);
  EXPECT_THROW(client.launch(doubled, {}, {Argument::in(foreign)}), ForeignHandle);
  EXPECT_THROW(client.read(Handle()), UsageError);
}

TEST(Client, LaunchesOncePerPointAndNotAtAllForAZero) {
  const Client client = new_device();
  std::atomic<int> calls{0};
  const Kernel count("count", [&](const KernelContext& at) {
    EXPECT_EQ(at.grid(), (Dim3{2, 3, 4}));
    ++calls;
  });
  client.launch(count, {2, 3, 4}, {});
  client.launch(count, {2, 0, 4}, {});
  client.sync();
  EXPECT_EQ(calls.load(), 24);
}

TEST(Client, ReadOfTaintedBufferReportsTheCause) {
  const Client client = new_device();
  const Handle out = client.empty(8), after = client.empty(8);
  client.launch(broken, {}, {Argument::out(out)});
  client.launch(doubled, {}, {Argument::in(out), Argument::out(after)});
  for (const Handle& handle : {out, after}) {
    try {
      const Bytes bytes = client.read(handle);
      FAIL() << "a buffer that was never written was read";
    } catch (const LaunchFailed& error) {
      EXPECT_EQ(error.kernel(), "broken");
      EXPECT_NE(std::string(error.what()).find("the reason"), std::string::npos);
    }
  }
}

TEST(Client, AFullOverwriteClearsTheFailure) {
  const Client client = new_device();
  const Handle out = client.empty(8);
  client.launch(broken, {}, {Argument::out(out)});
  EXPECT_THROW(client.sync_buffers(std::span<const Handle>(&out, 1)), LaunchFailed);
  client.write(out, Bytes(8));
  EXPECT_NO_THROW(client.sync_buffers(std::span<const Handle>(&out, 1)));
}

TEST(Client, CheckReportsEachFailureOnce) {
  const Client client = new_device();
  const std::vector<Handle> handles{client.empty(8), client.empty(8), client.empty(8)};
  client.launch(broken, {}, {Argument::out(handles[0]), Argument::out(handles[1])});
  client.launch(broken, {}, {Argument::out(handles[2])});
  client.sync();
  try {
    client.check(handles);
    FAIL();
  } catch (const Several& several) {
    EXPECT_EQ(several.failures().size(), 2U);
  }
  EXPECT_THROW(client.check(std::span<const Handle>(handles).subspan(0, 2)), LaunchFailed);
}

TEST(Client, AFailedAllocationTaintsTheBuffer) {
  const Client client = new_device({.memory_limit_bytes = std::size_t{8} << 20U});
  const Handle handle = client.empty(std::size_t{1} << 30U);
  EXPECT_THROW(client.check(std::span<const Handle>(&handle, 1)), OutOfMemory);
  EXPECT_THROW(client.read(handle), OutOfMemory);
  EXPECT_THROW(client.read(client.create(Bytes(std::size_t{16} << 20U))), OutOfMemory);
  EXPECT_EQ(client.read(client.create(Bytes(16))).size(), 16U);
}

TEST(Client, DroppedHandlesGiveTheirMemoryBack) {
  const Client client = new_device({.memory_limit_bytes = std::size_t{16} << 20U});
  for (int i = 0; i < 200; ++i) {
    const Handle a = client.create(Bytes(std::size_t{4} << 20U)), b = client.empty(a.size());
    client.launch(doubled, {}, {Argument::in(a), Argument::out(b)});
    client.sync_buffers(std::vector<Handle>{a, b});
  }
}

TEST(Client, ThreadsSeeEachOthersWorkInTheOrderOfTheirCalls) {
  const Client client = new_device();
  for (int round = 0; round < 200; ++round) {
    const Handle a = client.create_from_slice<float>(iota(1000)), b = client.empty(a.size());
    client.launch(doubled, {}, {Argument::in(a), Argument::out(b)});
    std::thread other([&] {
      EXPECT_EQ(client.read(b).as<float>()[999], 1998.0F);
      client.write(a, Bytes::copy_of<float>(std::vector<float>(1000, 1.0F)));
    });
    other.join();
    EXPECT_EQ(client.read(b).as<float>()[999], 1998.0F);
    EXPECT_EQ(client.read(a).as<float>()[999], 1.0F);
  }
}

TEST(Client, AFutureCompletesThoughNobodyWaits) {
  const Client client = new_device();
  auto future = client.read_async(client.create_from_slice<float>(iota(10)));
  const Deadline deadline = Deadline::after(10s);
  while (!future.ready() && !deadline.passed()) std::this_thread::yield();
  ASSERT_TRUE(future.ready());
  EXPECT_EQ(future.get().as<float>()[9], 9.0F);
}

/// A coroutine that nobody waits for.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Detached sum_of(Client client, Handle handle, std::atomic<float>& result) {
  const Bytes first = co_await client.read_async(handle);
  // On the thread that drives the device now: waiting for the device here must work.
  const Bytes second = client.read(handle);
  result.store(first.as<float>()[9] + second.as<float>()[8]);
}

TEST(Client, ACoroutineAwaitsAReadAndMayWaitAgain) {
  const Client client = new_device();
  std::atomic<float> result{0};
  sum_of(client, client.create_from_slice<float>(iota(10)), result);
  EXPECT_TRUE(client.help_until([&] { return result.load() != 0; }, Deadline::after(10s)));
  EXPECT_EQ(result.load(), 17.0F);
}

TEST(Client, AFutureOfATaintedBufferThrowsTheCause) {
  const Client client = new_device();
  const Handle out = client.empty(8);
  client.launch(broken, {}, {Argument::out(out)});
  auto future = client.read_async(out);
  EXPECT_THROW(future.get(), LaunchFailed);
}

TEST(Client, AKernelThatAsksForAMissingArgumentFailsItsLaunch) {
  const Client client = new_device();
  const Handle out = client.empty(8);
  client.launch(doubled, {}, {Argument::out(out)});
  EXPECT_THROW(client.read(out), LaunchFailed);
}

TEST(Client, RefusesADeviceThatCannotBe) {
  EXPECT_THROW(Client::load({Backend::host, {0}, -1}), UsageError);
  EXPECT_FALSE(Client::find({Backend::host, {7}, 7}).has_value());
}

// Last in this file: afterwards the process has no devices.
TEST(RegisterServer, RefusesADeviceThatRuns) {
  const DeviceId id{Backend::host, {0}, 77};
  const Client client = Client::register_server(id, DeviceServer::host({.memory_limit_bytes = 1 << 20}));
  EXPECT_EQ(client.properties().memory_limit_bytes, std::size_t{1} << 20U);
  EXPECT_EQ(Client::load(id).service_id(), client.service_id());
  EXPECT_THROW(Client::register_server(id, DeviceServer::host()), AlreadyRegistered);
  EXPECT_FALSE(Client::try_register_server(id, DeviceServer::host()));
  EXPECT_THROW(Client::register_server({Backend::cuda, {0}, 0}, DeviceServer::host()), UsageError);
  EXPECT_THROW(Client::register_server({Backend::host, {0}, -1}, DeviceServer::host()), UsageError);
}

TEST(ZClose, EveryCallAnswersDeviceClosed) {
  const Client client = new_device();
  const Handle handle = client.empty(8);
  close_all_devices();
  EXPECT_THROW(client.empty(8), DeviceClosed);
  EXPECT_THROW(client.read(handle), DeviceClosed);
  EXPECT_THROW(client.sync(), DeviceClosed);
  EXPECT_THROW(client.flush(), DeviceClosed);
  EXPECT_THROW(new_device(), DeviceClosed);
}

}  // namespace
}  // namespace muster
