#include "child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace muster::launcher {

int exit_code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  std::array<int, 2> out{}, err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(127);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    const std::string message = "muster: cannot start " + command[0] + ": " + std::generic_category().message(errno) + "\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, message.data(), message.size());
    _exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  output_ = out[0];
  errors_ = err[0];
}

ChildProcess::~ChildProcess() {
  if (!reaped_) {
    ::kill(pid_, SIGKILL);
    wait();
  }
  kill_descendants();
  ::close(output_);
  ::close(errors_);
}

void ChildProcess::signal(int number) const noexcept {
  if (!reaped_) ::kill(pid_, number);
}

int ChildProcess::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  return exit_code_of(status);
}

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

namespace {
/// The parent of a process, or 0 if it is gone.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  // The name in parentheses may hold anything; the parent is the second word behind it.
  const auto end = text.rfind(')');
  if (end == std::string::npos || end + 4 >= text.size()) return 0;
  pid_t parent = 0;
  std::from_chars(text.data() + end + 4, text.data() + text.size(), parent);
  return parent;
}
}  // namespace

int kill_descendants() {
  int killed = 0;
  for (bool found = true; found;) {
    found = false;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      pid_t process = 0;
      const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
      if (error != std::errc() || end != name.data() + name.size() || parent_of(process) != getpid()) continue;
      ::kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
      found = true;
      ++killed;
    }
  }
  return killed;
}

}  // namespace muster::launcher
