// Programs that end, fork or begin in unusual ways, one case each. Usage: exit_case CASE. Prints what happened; the test
// looks at that and at the exit status.

#include <sys/wait.h>
#include <unistd.h>

#include <muster/client.hpp>
#include <muster/client_group.hpp>
#include <muster/kernel_language.hpp>
#include <muster/world.hpp>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>

namespace {

using namespace muster;

MUSTER_KERNEL(wait_for_ever, muster::kernel::u32* flag) {
  while (muster::kernel::atomic_load<muster::kernel::Scope::system>(flag) == 0) muster::kernel::relax();
}

Client device(int ordinal = 0) { return Client::load({Backend::host, {0}, ordinal}); }

/// Outlives main; what it holds is dropped, and used, while the process exits.
struct Late {
  std::optional<Client> client;
  Handle handle;
  Bytes lazy;
  std::optional<Graph> graph;
  ~Late() {
    if (!client) return;
    try {
      client->write(handle, Bytes(handle.size()));
      std::puts("a call after the end was accepted");
    } catch (const DeviceClosed&) {
      std::puts("closed");
    }
  }
};
Late late;

int static_destructors() {
  late.client = device();
  late.handle = late.client->create(Bytes(1 << 20));
  late.lazy = late.client->read_lazy(late.handle);
  late.client->start_capture();
  late.graph = late.client->stop_capture();
  late.graph->replay();
  return 0;
}

int threads_submit_while_main_returns() {
  const Client client = device();
  static std::atomic<int> submitting{0};
  for (int i = 0; i < 4; ++i) {
    std::thread([client] {
      const Handle handle = client.create(Bytes(64));
      ++submitting;
      try {
        for (;;) {
          client.write(handle, Bytes(64));
          if (client.read(handle).size() != 64) std::abort();
        }
      } catch (const DeviceClosed&) {
        // As it should be, at whatever call the end came.
      }
      for (;;) pause();
    }).detach();
  }
  while (submitting != 4) std::this_thread::yield();
  std::puts("main returns");
  return 0;
}

int exception_in_flight() {
  const Client client = device();
  const Handle handle = client.create(Bytes(1 << 20));
  for (int i = 0; i < 1000; ++i) client.write(handle, Bytes(1 << 10 << 10));
  throw std::runtime_error("left main with work pending");
}

int caught_exception() {
  try {
    const Client client = device();
    const ProfileToken token = client.profile_start();
    client.launch(Kernel("fails", [](const KernelContext&) { throw 7; }), 1, {Argument::out(client.empty(8))});
    throw std::runtime_error("left the scope");
  } catch (const std::runtime_error& error) {
    std::puts(error.what());
  }
  return 0;
}

/// The device's thread is in a kernel that waits for a peer that never comes.
int waiting_kernel() {
  const Client client = device(0), peer = device(1);
  const PeerHandle flag = peer.share_with_peers(peer.create_from_slice<std::uint32_t>(std::vector<std::uint32_t>{0}));
  peer.sync();
  client.launch(Kernel(wait_for_ever, {1, 1, 1}), 1, {Argument::peer(flag)});
  std::puts("main returns");
  return 0;
}

int in_child(const std::function<void()>& work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    try {
      work();
      std::puts("the child was not told");
    } catch (const DeviceClosed& error) {
      std::printf("told: %s\n", error.what());
    }
    std::exit(0);  // with exit handlers and static destructors, as a careless program does
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

int fork_after_init() {
  const Client client = device();
  const Handle handle = client.create(Bytes(8));
  int worst = 0;
  for (const std::function<void()>& call : std::initializer_list<std::function<void()>>{
           [&] { static_cast<void>(client.read(handle)); }, [&] { client.write(handle, Bytes(8)); }, [&] { client.sync(); },
           [&] {
             client.flush();
             client.check({});
           },
           [&] { static_cast<void>(device(5)); }, [&] { client.exclusive([] {}); }}) {
    worst = std::max(worst, in_child(call));
  }
  if (client.read(handle).size() == 8) std::puts("the parent goes on");
  return worst;
}

int fork_after_world() {
  World world = World::form();
  const ClientGroup group = world.group();
  const Client client = world.clients().front();
  const Handle value = client.create_from_slice<float>(std::vector<float>(10, 1.0F));
  const int status = in_child([&] { group.all_reduce(client, value, value, Dtype::f32, ReduceOp::sum); });
  group.all_reduce(client, value, value, Dtype::f32, ReduceOp::sum);
  if (client.read(value).as<float>()[0] == static_cast<float>(world.size())) std::puts("the parent goes on");
  world.shutdown();
  return status;
}

int double_init() {
  const Client first = device(), second = device();
  const Handle handle = first.create(Bytes(8));
  if (second.read(handle).size() == 8) std::puts("the same device");
  World world = World::form();
  try {
    const World other = World::form();
  } catch (const UsageError& error) {
    std::printf("refused: %s\n", error.what());
  }
  world.shutdown();
  return 0;
}

int init_in_a_thread() {
  std::thread([] {
    World world = World::form();
    const ClientGroup group = world.group();
    const Client client = world.clients().front();
    const Handle value = client.create_from_slice<float>(std::vector<float>(10, 1.0F));
    group.all_reduce(client, value, value, Dtype::f32, ReduceOp::sum);
    std::thread([&] {
      if (client.read(value).as<float>()[0] == static_cast<float>(world.size())) std::puts("summed");
    }).join();
    world.shutdown();
  }).join();
  return 0;
}

int close_twice() {
  const Client client = device();
  close_all_devices();
  close_all_devices();
  try {
    static_cast<void>(client.empty(8));
  } catch (const DeviceClosed&) {
    std::puts("closed");
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::map<std::string, int (*)()> cases{{"static_destructors", static_destructors},
                                               {"threads_submit_while_main_returns", threads_submit_while_main_returns},
                                               {"exception_in_flight", exception_in_flight},
                                               {"caught_exception", caught_exception},
                                               {"waiting_kernel", waiting_kernel},
                                               {"fork_after_init", fork_after_init},
                                               {"fork_after_world", fork_after_world},
                                               {"double_init", double_init},
                                               {"init_in_a_thread", init_in_a_thread},
                                               {"close_twice", close_twice}};
  const auto chosen = count == 2 ? cases.find(arguments[1]) : cases.end();
  if (chosen == cases.end()) {
    std::fputs("usage: exit_case CASE\n", stderr);
    return 2;
  }
  return chosen->second();
}
