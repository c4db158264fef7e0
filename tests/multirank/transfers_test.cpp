// send and recv: order per pair, no wait of one direction for another, independence of collectives.

#include <gtest/gtest.h>

#include <muster/client_group.hpp>

#include <atomic>
#include <thread>

#include "support/world_environment.hpp"

namespace muster::test {
namespace {

std::vector<float> filled(std::size_t count, float value) { return std::vector<float>(count, value); }

class Transfers : public testing::Test {
 protected:
  ClientGroup group_ = world().group();
  Client client_ = world().clients().front();
  int me_ = group_.index_of(client_), n_ = group_.size();
  int next_ = (me_ + 1) % n_, before_ = (me_ - 1 + n_) % n_;
};

TEST_F(Transfers, ARingOfSendsAndReceivesOfManySizes) {
  for (const std::size_t count : {0U, 1U, 5U, 1000U, 100'000U, 2'000'000U}) {
    const Handle out = client_.create_from_slice<float>(filled(count, static_cast<float>(me_ + 1)));
    const Handle in = client_.empty(out.size());
    // Everybody sends first: a send must not keep the receive behind it from running.
    group_.send(client_, out, next_);
    group_.recv(client_, in, before_);
    const Bytes bytes = client_.read(in);
    ASSERT_EQ(bytes.size(), count * sizeof(float));
    for (const float value : bytes.as<float>()) ASSERT_EQ(value, static_cast<float>(before_ + 1));
    group_.sync_transfers(client_, next_);
  }
}

TEST_F(Transfers, ArePairedInTheOrderIssued) {
  std::vector<Handle> in;
  for (int i = 0; i < 50; ++i) {
    group_.send(client_, client_.create_from_slice<float>(filled(10, static_cast<float>(i))), next_);
    in.push_back(client_.empty(10 * sizeof(float)));
    group_.recv(client_, in.back(), before_);
  }
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client_.read(in[i]).as<float>()[9], static_cast<float>(i));
}

TEST_F(Transfers, DoNotQueueBehindACollectiveThatWaits) {
  // Rank 0 issues its collective first, and its send after; the others receive before they join the collective.
  const Handle value = client_.create_from_slice<float>(filled(10, 1)), sum = client_.empty(value.size());
  const CollectiveOptions later{ComputeWait::at_sync, Reproducibility::exact};
  if (me_ == 0) {
    group_.all_reduce(client_, value, sum, Dtype::f32, ReduceOp::sum, later);
    client_.flush();
    for (int peer = 1; peer < n_; ++peer) {
      group_.send(client_, client_.create_from_slice<float>(filled(20, static_cast<float>(peer))), peer);
    }
  } else {
    const Handle in = client_.empty(20 * sizeof(float));
    group_.recv(client_, in, 0);
    EXPECT_EQ(client_.read(in).as<float>()[0], static_cast<float>(me_));
    group_.all_reduce(client_, value, sum, Dtype::f32, ReduceOp::sum, later);
  }
  EXPECT_EQ(client_.read(sum).as<float>()[9], static_cast<float>(n_));
}

TEST_F(Transfers, ReachADeviceThatIsBusyWithAKernel) {
  std::atomic<bool> received{false};
  const Handle out = client_.create_from_slice<float>(filled(1000, 3)), in = client_.empty(out.size());
  // The kernel ends when the transfer has come in, which another thread must therefore carry.
  const Kernel busy("busy", [&](const KernelContext&) {
    const Deadline deadline = Deadline::after(std::chrono::seconds(30));
    while (!received.load() && !deadline.passed()) std::this_thread::yield();
  });
  client_.sync();
  client_.launch(busy, {}, {});
  client_.flush();
  group_.send(client_, out, next_);
  std::thread other([&] {
    const Client same = Client::load(client_.device_id());
    group_.recv(same, in, before_);
    EXPECT_EQ(same.read(in).as<float>()[999], 3.0F);
    received.store(true);
  });
  other.join();
  client_.sync();
  group_.sync_transfers(client_, next_);
  EXPECT_TRUE(received.load());
}

TEST_F(Transfers, WithOneselfOrNobodyAreRefused) {
  EXPECT_THROW(group_.send(client_, client_.empty(4), me_), UsageError);
  EXPECT_THROW(group_.recv(client_, client_.empty(4), n_), UsageError);
  EXPECT_THROW(group_.recv(client_, client_.empty(4), -1), UsageError);
}

TEST_F(Transfers, AFailedSourceTaintsTheDestination) {
  const Kernel broken("broken", [](const KernelContext&) { throw std::runtime_error("the reason"); });
  const Handle out = client_.empty(64), in = client_.empty(64);
  if (me_ == 0) client_.launch(broken, {}, {Argument::out(out)});
  if (me_ != 0) client_.write(out, Bytes(64));
  group_.send(client_, out, next_);
  group_.recv(client_, in, before_);
  if (before_ == 0) {
    EXPECT_THROW(client_.read(in), PeerFailed);
  } else {
    EXPECT_NO_THROW(client_.sync_buffers(std::span<const Handle>(&in, 1)));
    EXPECT_EQ(client_.read(in).size(), 64U);
  }
  group_.sync_transfers(client_, next_);
  EXPECT_EQ(group_.broken(), nullptr);
}

}  // namespace
}  // namespace muster::test
