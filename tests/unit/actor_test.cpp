#include "actor/actor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "muster/client.hpp"
#include "muster/error.hpp"

namespace muster::detail {
namespace {

using namespace std::chrono_literals;

/// Devices of this test program; each test takes a new one.
Client new_device() {
  static std::atomic<int> next{0};
  return Client::load({Backend::host, {0}, next++});
}

TEST(Actor, TasksOfOneThreadRunInTheirOrder) {
  const Client client = new_device();
  std::vector<int> order;
  for (int i = 0; i < 5000; ++i) client.submit([&order, i](DeviceContext&) { order.push_back(i); });
  client.submit_blocking([](DeviceContext&) {});
  ASSERT_EQ(order.size(), 5000U);
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(order[i], i);
}

TEST(Actor, TasksOfManyThreadsNeverOverlap) {
  const Client client = new_device();
  std::atomic<int> inside{0};
  int total = 0;  // unprotected: the actor is the protection
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const auto work = [&](DeviceContext&) {
          EXPECT_EQ(inside.fetch_add(1), 0);
          ++total;
          inside.fetch_sub(1);
        };
        if (i % 3 == 0) {
          client.submit_blocking(work);
        } else {
          client.submit(work);
        }
      }
      client.submit_blocking([](DeviceContext&) {});
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(total, 8000);
}

TEST(Actor, WorkRunsThoughNobodyWaits) {
  const Client client = new_device();
  std::atomic<bool> ran{false};
  client.submit([&](DeviceContext&) { ran.store(true); });
  const Deadline deadline = Deadline::after(10s);
  while (!ran.load() && !deadline.passed()) std::this_thread::yield();
  EXPECT_TRUE(ran.load());
}

TEST(Actor, ABlockingCallRethrowsAndTheActorGoesOn) {
  const Client client = new_device();
  EXPECT_THROW(client.submit_blocking([](DeviceContext&) { throw std::runtime_error("mine"); }), std::runtime_error);
  client.submit([](DeviceContext&) { throw std::runtime_error("logged"); });
  int ran = 0;
  client.submit_blocking([&](DeviceContext&) { ++ran; });
  EXPECT_EQ(ran, 1);
}

TEST(Actor, ATaskThatWaitsForItsOwnDeviceIsToldSo) {
  const Client client = new_device();
  client.submit_blocking([&](DeviceContext&) { EXPECT_THROW(client.sync(), UsageError); });
}

TEST(Actor, AWaitEndsAtItsDeadline) {
  const Client client = new_device();
  EXPECT_FALSE(client.help_until([] { return false; }, Deadline::after(20ms)));
}

TEST(Actor, ASleepingWaiterIsWokenByAnotherThread) {
  const Client client = new_device();
  for (int round = 0; round < 200; ++round) {
    std::atomic<bool> flag{false};
    std::thread other([&] {
      // Long enough for the waiter to fall asleep in some rounds.
      const Deadline later = Deadline::after(std::chrono::microseconds(round * 20));
      while (!later.passed()) std::this_thread::yield();
      flag.store(true);
      client.doorbell().ring();
    });
    EXPECT_TRUE(client.help_until([&] { return flag.load(); }, Deadline::after(10s)));
    other.join();
  }
}

TEST(Doorbell, NoRingIsLost) {
  Doorbell bell;
  std::atomic<int> stage{0};
  constexpr int rounds = 20000;
  std::thread other([&] {
    for (int round = 0; round < rounds; ++round) {
      while (stage.load() != 2 * round) {
        const auto ticket = bell.announce();
        if (stage.load() == 2 * round) {
          bell.leave();
          break;
        }
        bell.sleep(ticket, 10s);
      }
      stage.store(2 * round + 1);
      bell.ring();
    }
  });
  const Deadline deadline = Deadline::after(60s);
  for (int round = 0; round < rounds; ++round) {
    while (stage.load() != 2 * round + 1) {
      const auto ticket = bell.announce();
      if (stage.load() == 2 * round + 1) {
        bell.leave();
        break;
      }
      bell.sleep(ticket, 10s);
    }
    stage.store(2 * round + 2);
    bell.ring();
  }
  other.join();
  EXPECT_FALSE(deadline.passed()) << "a lost ring costs its whole sleep";
}

}  // namespace
}  // namespace muster::detail
