#include "run_command.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "child_process.hpp"
#include "output_relay.hpp"

extern char** environ;

namespace muster::launcher {

namespace {

/// The signals that a user may send to end or steer a job, read from a descriptor instead of in a handler.
class SignalQueue {
 public:
  SignalQueue() {
    sigemptyset(&set_);
    for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) sigaddset(&set_, each);
    sigprocmask(SIG_BLOCK, &set_, &before_);
    descriptor_ = signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;
  ~SignalQueue() {
    ::close(descriptor_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// The next signal, or 0.
  [[nodiscard]] int next() const noexcept {
    signalfd_siginfo info{};
    return read(descriptor_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  sigset_t set_{}, before_{};
  int descriptor_ = -1;
};

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry; ++entry) all.emplace_back(*entry);
  return all;
}

/// Copies what is there from a pipe; false at its end.
bool relay_some(int descriptor, OutputRelay& relay) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(descriptor, buffer.data(), buffer.size());
  if (got > 0) relay.take({buffer.data(), static_cast<std::size_t>(got)});
  return got > 0 || (got < 0 && errno == EINTR);
}

OutputRelay::Colour colour_for(std::FILE* file) {
  return isatty(fileno(file)) ? OutputRelay::Colour::on : OutputRelay::Colour::off;
}

}  // namespace

int run_command(const LaunchSpec& spec, OutputTags tags) {
  const auto command = mpirun_command(spec, tags, own_environment(), geteuid() == 0);
  adopt_orphans();
  const SignalQueue signals;
  ChildProcess mpirun(command);
  OutputRelay out(stdout, colour_for(stdout)), err(stderr, colour_for(stderr));
  std::array<pollfd, 3> watched{pollfd{mpirun.output(), POLLIN, 0}, pollfd{mpirun.errors(), POLLIN, 0},
                                pollfd{signals.descriptor(), POLLIN, 0}};
  int interrupts = 0;
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) break;
    if (watched[0].revents != 0 && !relay_some(mpirun.output(), out)) watched[0].fd = -1;
    if (watched[1].revents != 0 && !relay_some(mpirun.errors(), err)) watched[1].fd = -1;
    while (const int number = signals.next()) {
      const bool ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
      if (ends && ++interrupts > 1) {
        fmt::print(stderr, "muster: told twice; killing all ranks\n");
        mpirun.signal(SIGKILL);
        kill_descendants();
      } else {
        mpirun.signal(number == SIGHUP || number == SIGQUIT ? SIGTERM : number);
      }
    }
  }
  out.finish();
  err.finish();
  return mpirun.wait();
}

}  // namespace muster::launcher
