// Each failure, injected into a buffer, at each operation that meets it: what every later call reports. Failed collectives
// are in the tests of several ranks.

#include <gtest/gtest.h>

#include <muster/client.hpp>
#include <muster/kernels.hpp>

#include <cstring>

#include "support/fresh_device.hpp"

namespace muster {
namespace {

using test::new_device;

constexpr std::size_t size = 64;

/// A way to leave a buffer unwritten, and what it then carries.
struct Injected {
  const char* name;
  ErrorCode code;
  /// The failed buffer. It has memory of its own where `allocated`.
  Handle (*make)(const Client& client);
  bool allocated;
};

Handle failed_allocation(const Client& client) {
  return client.empty(std::size_t{30} << 20U);  // of a limit of 8 MiB
}
Handle failed_compilation(const Client& client) {
  const Kernel kernel({"does not compile", ""},
                      [](const TargetProperties&) -> Kernel::Body { throw std::runtime_error("line 1"); });
  const Handle out = client.empty(size);
  client.launch(kernel, 1, {Argument::out(out)});
  return out;
}
Handle failed_launch(const Client& client) {
  const Handle out = client.empty(size);
  client.launch(Kernel("throws", [](const KernelContext&) { throw std::runtime_error("no"); }), 1, {Argument::out(out)});
  return out;
}
Handle failed_transfer(const Client& client) {
  const Client other = new_device();
  return other.to_client(failed_launch(other), client);
}
Handle failed_capture(const Client& client) {
  const Handle out = client.empty(size);
  client.start_capture();
  client.write(out, Bytes(size));
  EXPECT_THROW(static_cast<void>(client.stop_capture()), CaptureFailed);
  return out;
}

constexpr Injected injections[]{
    {"allocation", ErrorCode::out_of_memory, failed_allocation, false},
    {"compilation", ErrorCode::compile_failed, failed_compilation, true},
    {"launch", ErrorCode::launch_failed, failed_launch, true},
    {"transfer", ErrorCode::launch_failed, failed_transfer, true},
    {"capture", ErrorCode::capture_failed, failed_capture, true},
};

class FailureTable : public testing::TestWithParam<Injected> {
 protected:
  Client client = new_device({.memory_limit_bytes = std::size_t{8} << 20U});
  Handle failed = GetParam().make(client);
  std::span<const Handle> one{&failed, 1};

  template <class F>
  void reports(const char* call, F&& run) {
    try {
      std::forward<F>(run)();
      ADD_FAILURE() << call << " reports nothing";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), GetParam().code) << call << " reports: " << error.what();
    }
  }
  /// What `out` was to be written from carries the failure, and so does it.
  void carried_to(const char* call, const Handle& out) {
    reports(call, [&] { static_cast<void>(client.read(out)); });
  }
};
INSTANTIATE_TEST_SUITE_P(Injections, FailureTable, testing::ValuesIn(injections),
                         [](const auto& injected) { return injected.param.name; });

TEST_P(FailureTable, EveryReadReportsIt) {
  reports("read", [&] { static_cast<void>(client.read(failed)); });
  reports("read of several", [&] { static_cast<void>(client.read(one)); });
  reports("read of a slice", [&] { static_cast<void>(client.read(failed.slice(8, 8))); });
  reports("read_async", [&] { static_cast<void>(client.read_async(failed).get()); });
  reports("read_tensor", [&] { static_cast<void>(client.read_tensor({failed, {2, 2}, {2, 1}, 4})); });
  reports("read_lazy", [&] { static_cast<void>(client.read_lazy(failed).data()); });
  reports("read_lazy_async", [&] { static_cast<void>(client.read_lazy_async(failed).get()); });
}

TEST_P(FailureTable, ChecksAndSyncsReportItOnce) {
  reports("sync_buffers", [&] { client.sync_buffers(one); });
  reports("check", [&] { client.check(one); });
  const std::vector<Handle> twice{failed, failed.slice(0, 8), failed};
  reports("check of the same failure thrice", [&] { client.check(twice); });
  reports("share_with_peers", [&] { static_cast<void>(client.share_with_peers(failed)); });
  reports("get_resource", [&] { static_cast<void>(client.get_resource<HostResource>(failed)); });
  EXPECT_NO_THROW(client.sync()) << "a sync is of the device, not of a buffer";
}

TEST_P(FailureTable, WorkThatReadsItPassesItOn) {
  const Handle copied = client.empty(8), computed = client.empty(8), counted = client.empty(8), kept = client.empty(8);
  client.copy(failed.slice(0, 8), copied);
  carried_to("copy", copied);
  client.launch(kernels::relu(), 1, {Argument::in(failed), Argument::out(computed), Argument::scalar(std::int64_t{2})});
  carried_to("launch", computed);
  client.launch(kernels::relu(), 1, {Argument::in(copied), Argument::out(kept), Argument::scalar(std::int64_t{2})});
  carried_to("launch on what a copy left", kept);
  client.launch(kernels::fill(), Count::dynamic(failed),
                {Argument::out(counted), Argument::scalar(1.0), Argument::scalar(std::int64_t{2})});
  carried_to("dynamic count", counted);
  carried_to("create from a lazy read", client.create(client.read_lazy(failed.slice(0, 8))));
  carried_to("to_client on the same device", client.to_client(failed.slice(0, 8), client));
  const Client other = new_device();
  const Handle abroad = client.to_client(failed.slice(0, 8), other);
  reports("to_client", [&] { static_cast<void>(other.read(abroad)); });
  const Handle back = other.to_client(abroad, client);
  carried_to("to_client and back", back);
}

TEST_P(FailureTable, AGraphPassesItOnAtEachReplay) {
  const Handle out = client.create(Bytes(8));
  client.start_capture();
  client.copy(failed.slice(0, 8), out);
  const Graph graph = client.stop_capture();
  graph.replay();
  carried_to("replay", out);
  client.write(out, Bytes(8));
  graph.replay();
  carried_to("second replay", out);
}

TEST_P(FailureTable, AFullOverwriteClearsItWhereThereIsMemory) {
  client.write(failed, Bytes(failed.size()));
  if (GetParam().allocated) {
    EXPECT_NO_THROW(static_cast<void>(client.read(failed)));
    EXPECT_NO_THROW(client.check(one));
  } else {
    reports("read after a write to memory that never was", [&] { static_cast<void>(client.read(failed)); });
  }
}

TEST_P(FailureTable, APartialOverwriteClearsItsPartOnly) {
  client.write(failed.slice(8, 8), Bytes(8));
  if (GetParam().allocated) {
    EXPECT_NO_THROW(static_cast<void>(client.read(failed.slice(8, 8))));
  }
  reports("read of the rest", [&] { static_cast<void>(client.read(failed.slice(0, 8))); });
  reports("read of all", [&] { static_cast<void>(client.read(failed)); });
}

TEST(FailureTableSeveral, DifferentFailuresComeTogetherEachOnce) {
  const Client client = new_device({.memory_limit_bytes = std::size_t{8} << 20U});
  std::vector<Handle> handles;
  for (const Injected& injected : injections) {
    handles.push_back(injected.make(client));
    handles.push_back(handles.back().slice(0, 8));
  }
  try {
    client.sync_buffers(handles);
    FAIL();
  } catch (const Several& several) {
    EXPECT_EQ(several.failures().size(), std::size(injections));
  }
}

}  // namespace
}  // namespace muster
