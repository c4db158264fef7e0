// What a call on a device actor costs, beside the same done with asio::post to a one-thread io_context, with std::async,
// and with a queue under a mutex and a condition variable. All of them take turns in one run; figures are medians of the
// rounds.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <muster/client.hpp>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace {

using namespace muster;
using Clock = std::chrono::steady_clock;

/// A thread that runs what is posted to it, by Boost.Asio.
class AsioThread {
 public:
  AsioThread() : guard_(context_.get_executor()), thread_([this] { context_.run(); }) {}
  AsioThread(const AsioThread&) = delete;
  AsioThread& operator=(const AsioThread&) = delete;
  ~AsioThread() {
    guard_.reset();
    thread_.join();
  }
  template <class F>
  void post(F work) {
    boost::asio::post(context_, std::move(work));
  }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::thread thread_;
};

/// The same with a queue under a mutex.
class QueueThread {
 public:
  QueueThread() : thread_([this] { run(); }) {}
  QueueThread(const QueueThread&) = delete;
  QueueThread& operator=(const QueueThread&) = delete;
  ~QueueThread() {
    post(nullptr);
    thread_.join();
  }
  void post(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    filled_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      filled_.wait(lock, [&] { return !queue_.empty(); });
      const auto work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      if (!work) return;
      work();
    }
  }
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::function<void()>> queue_;
  std::thread thread_;
};

/// Runs `work` on a thread and waits for it.
template <class Thread, class F>
void round_trip(Thread& thread, F work) {
  std::promise<void> done;
  thread.post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

struct Way {
  std::string name;
  int repeats;                        // of the measured act, in one call of `run`
  std::function<void(int)> run;       // does the act that many times
  std::vector<double> nanoseconds{};  // of one act, by round
};
struct Measurement {
  std::string name;
  std::vector<Way> ways;  // ours first
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void measure(Measurement& measurement, int rounds) {
  for (Way& way : measurement.ways) way.run(std::max(way.repeats / 10, 1));  // warm
  for (int round = 0; round < rounds; ++round) {
    for (Way& way : measurement.ways) {
      const auto start = Clock::now();
      way.run(way.repeats);
      const std::chrono::duration<double, std::nano> took = Clock::now() - start;
      way.nanoseconds.push_back(took.count() / way.repeats);
    }
  }
}

void nothing() {}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("The cost of calls on a device actor, beside other ways to have a thread do work");
  int rounds = 7;
  bool json = false;
  app.add_option("--rounds", rounds, "rounds; figures are their medians")->check(CLI::Range(1, 1000));
  app.add_flag("--json", json, "one object instead of a table");
  CLI11_PARSE(app, count, arguments);

  const Client client = Client::load({Backend::host, {0}, 0});
  AsioThread asio;
  QueueThread queue;
  const Kernel empty_kernel("empty", [](const KernelContext&) {});
  constexpr std::size_t kibi = 1024;
  std::vector<std::byte> source(kibi), target(kibi);
  const auto allocate_and_copy = [&] {
    const std::unique_ptr<std::byte[]> memory(new std::byte[kibi]);
    std::memcpy(memory.get(), source.data(), kibi);
    std::memcpy(target.data(), memory.get(), kibi);
  };
  const auto async_many = [&](int repeats, const auto& work) {
    for (int i = 0; i < repeats; ++i) std::async(std::launch::async, work).wait();
  };
  constexpr int many = 1'000'000, some = 20'000, launches = 1000;
  const auto post_many = [&](auto& thread, int repeats) {
    for (int i = 0; i < repeats; ++i) thread.post(nothing);
    round_trip(thread, nothing);
  };
  const auto trips = [&](auto& thread, int repeats, const auto& work) {
    for (int i = 0; i < repeats; ++i) round_trip(thread, work);
  };

  std::vector<Measurement> measurements;
  measurements.push_back({"submit an empty task (amortised)",
                          {{"muster", many,
                            [&](int n) {
                              for (int i = 0; i < n; ++i) client.submit([](DeviceContext&) {});
                              client.submit_blocking([](DeviceContext&) {});
                            }},
                           {"asio::post", many, [&](int n) { post_many(asio, n); }},
                           {"std::async", some / 10, [&](int n) { async_many(n, nothing); }},
                           {"mutex and condition variable", many, [&](int n) { post_many(queue, n); }}}});
  measurements.push_back({"submit_blocking on an idle actor",
                          {{"muster", many,
                            [&](int n) {
                              for (int i = 0; i < n; ++i) client.submit_blocking([](DeviceContext&) {});
                            }},
                           {"asio::post", some, [&](int n) { trips(asio, n, nothing); }},
                           {"std::async", some / 10, [&](int n) { async_many(n, nothing); }},
                           {"mutex and condition variable", some, [&](int n) { trips(queue, n, nothing); }}}});
  measurements.push_back({"launch an empty kernel, and sync",
                          {{"muster", some * 10,
                            [&](int n) {
                              for (int i = 0; i < n; ++i) {
                                client.launch(empty_kernel, {}, {});
                                client.sync();
                              }
                            }},
                           {"asio::post", some, [&](int n) { trips(asio, n, nothing); }},
                           {"std::async", some / 10, [&](int n) { async_many(n, nothing); }},
                           {"mutex and condition variable", some, [&](int n) { trips(queue, n, nothing); }}}});
  measurements.push_back({"create, write and read 1 KiB",
                          {{"muster", some * 5,
                            [&](int n) {
                              for (int i = 0; i < n; ++i) {
                                const Handle handle = client.create_from_slice<std::byte>(source);
                                client.write(handle, Bytes::copy_of<std::byte>(source));
                                static_cast<void>(client.read(handle));
                              }
                            }},
                           {"asio::post", some, [&](int n) { trips(asio, n, allocate_and_copy); }},
                           {"std::async", some / 10, [&](int n) { async_many(n, allocate_and_copy); }},
                           {"mutex and condition variable", some, [&](int n) { trips(queue, n, allocate_and_copy); }}}});

  const Handle buffer = client.empty(64);
  const Kernel small("small", [](const KernelContext& at) { at.buffer<std::uint32_t>(0)[0] += 1; });
  const auto launch_all = [&] {
    for (int i = 0; i < launches; ++i) client.launch(small, {}, {Argument::in_out(buffer)});
  };
  client.start_capture();
  launch_all();
  const Graph graph = client.stop_capture();
  measurements.push_back({"1,000 small launches",
                          {{"graph replay", 100,
                            [&](int n) {
                              for (int i = 0; i < n; ++i) {
                                graph.replay();
                                client.sync();
                              }
                            }},
                           {"one by one", 100, [&](int n) {
                              for (int i = 0; i < n; ++i) {
                                launch_all();
                                client.sync();
                              }
                            }}}});

  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (Measurement& measurement : measurements) {
    measure(measurement, rounds);
    const double ours = median(measurement.ways.front().nanoseconds);
    if (!json) fmt::print("{}\n", measurement.name);
    for (const Way& way : measurement.ways) {
      const double time = median(way.nanoseconds);
      if (!json) fmt::print("  {:<30} {:>12.1f} ns   ratio {:>8.2f}\n", way.name, time, time / ours);
      all.push_back({{"what", measurement.name}, {"way", way.name}, {"time_ns", time}, {"ratio", time / ours}});
    }
  }
  if (json) fmt::print("{}\n", all.dump(1));
  return 0;
}
