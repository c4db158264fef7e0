// A rank that is killed: the others are told, by name, long before the deadline. A program of its own, since the world
// cannot end in order afterwards.

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>
#include <muster/client_group.hpp>
#include <muster/world.hpp>

#include <chrono>

int main() {
  using namespace muster;
  using namespace std::chrono_literals;
  const World world = World::form();
  const ClientGroup group = world.group();
  const Client client = world.clients().front();
  const Handle value = client.create_from_slice<float>(std::vector<float>(100, 1.0F));
  group.all_reduce(client, value, value, Dtype::f32, ReduceOp::sum);
  client.sync();
  constexpr int victim = 1;
  if (world.rank().value == victim) kill(getpid(), SIGKILL);
  const auto start = std::chrono::steady_clock::now();
  bool told = false;
  for (int i = 0; i < 3 && !told; ++i) {
    group.all_reduce(client, value, value, Dtype::f32, ReduceOp::sum);
    try {
      const Bytes bytes = client.read(value);
    } catch (const PeerLost& lost) {
      told = lost.rank().value == victim && std::chrono::steady_clock::now() - start < 5s;
      fmt::print(stderr, "rank {}: {}\n", world.rank().value, lost.what());
    }
  }
  // The survivors agree on how many were told, in a group of their own.
  const ClientGroup survivors = world.group({{Backend::host, {0}, 0}, {Backend::host, {2}, 0}});
  const Handle count = client.create_from_slice<int>(std::vector<int>(1, told ? 1 : 0));
  survivors.all_reduce(client, count, count, Dtype::i32, ReduceOp::sum);
  const int all = client.read(count).as<int>()[0];
  if (world.rank().value == 0) fmt::print("{}{} survivors were told\n", all == 2 ? "" : "FAILED: ", all);
  std::fflush(stdout);
  survivors.barrier(client);
  // MPI must not be ended in order once a rank is gone.
  _exit(all == 2 ? 0 : 1);
}
