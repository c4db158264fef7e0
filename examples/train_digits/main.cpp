// Trains a small network on handwritten digits on all ranks, and proves that the result is that of one rank.

#include <fmt/format.h>
#include <unistd.h>
#include <muster/world.hpp>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "training.hpp"

namespace {

using namespace train_digits;

struct Arguments {
  std::string data = default_path();
  Plan plan;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (i + 1 >= argc || (name != "--epochs" && name != "--data")) {
      throw std::invalid_argument("usage: train_digits [--epochs N] [--data FILE]");
    }
    const std::string value = argv[++i];
    if (name == "--data") {
      arguments.data = value;
      continue;
    }
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), arguments.plan.epochs);
    if (error != std::errc() || end != value.data() + value.size() || arguments.plan.epochs < 1) {
      throw std::invalid_argument("--epochs needs a whole number of at least 1, not '" + value + "'");
    }
  }
  return arguments;
}

/// A bar on a terminal of its own; a line now and then where the launcher relays what ranks print.
OnStep progress(bool speaks, const std::string& what) {
  return [speaks, what](int done, int steps, float loss) {
    if (!speaks) return;
    constexpr int width = 40, lines = 10;
    if (isatty(STDOUT_FILENO) && !std::getenv("MUSTER_RELAYED")) {
      fmt::print("\r{} [{:<{}}] {:>5}/{} loss {:.4f}", what, std::string(width * done / steps, '#'), width, done, steps,
                 loss);
      if (done == steps) fmt::print("\n");
      std::fflush(stdout);
    } else if (done == 1 || done == steps || done % (steps / lines + 1) == 0) {
      fmt::print("{} [{:<{}}] {:>5}/{} loss {:.4f}\n", what, std::string(width * done / steps, '#'), width, done, steps,
                 loss);
      std::fflush(stdout);
    }
  };
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

int run(int argc, char** argv) {
  Arguments arguments = parse(argc, argv);
  muster::World world = muster::World::form();
  const bool speaks = world.rank() == muster::RankId{0};
  const muster::ClientGroup group = world.group();
  const auto clients = group.local_clients();
  if (clients.size() != 1)
    throw std::invalid_argument("train_digits uses one device per rank; leave --devices-per-rank out");
  arguments.plan.parts = world.size();
  arguments.plan.batch = (64 + world.size() - 1) / world.size() * world.size();  // equal parts
  const Digits digits = read_digits(arguments.data);
  if (digits.count() <= arguments.plan.trained_on) {
    throw std::runtime_error(fmt::format("{} has {} digits; more than {} are needed", arguments.data, digits.count(),
                                         arguments.plan.trained_on));
  }
  const auto start = std::chrono::steady_clock::now();
  const Outcome together = train_together(group, clients.front(), digits, arguments.plan,
                                          progress(speaks, fmt::format("{} ranks", world.size())));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  bool same = true;
  if (speaks) {
    fmt::print("{} ranks on {} hosts: {:.1f} % of {} unseen digits right, after {:.1f} s\n", world.size(),
               world.host_count(), 100 * together.accuracy, digits.count() - arguments.plan.trained_on, took.count());
    const Outcome alone = train_alone(clients.front(), digits, arguments.plan, progress(speaks, "1 rank"));
    same = same_bits(together.losses, alone.losses) && together.accuracy == alone.accuracy;
    fmt::print("{}\n", same ? fmt::format("the losses of all {} steps have the same bits on 1 rank and on {}",
                                          together.losses.size(), world.size())
                            : "ERROR: the losses on 1 rank differ");
  }
  world.shutdown();
  return same ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "train_digits: {}\n", error.what());
    return 1;
  }
}
