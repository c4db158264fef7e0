#include <muster/client_group.hpp>
#include <muster/world.hpp>

#include <vector>

int main() {
  using namespace muster;
  World world = World::form();
  const ClientGroup group = world.group();
  const Client client = world.clients().front();
  const Handle value = client.create_from_slice<float>(std::vector<float>(1000, static_cast<float>(world.rank().value)));
  group.all_reduce(client, value, value, Dtype::f32, ReduceOp::sum);
  const Bytes sum = client.read(value);
  world.shutdown();
  const auto n = static_cast<float>(world.size());
  return sum.as<float>()[999] == n * (n - 1) / 2 ? 0 : 1;
}
