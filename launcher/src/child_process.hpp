#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace muster::launcher {

/// How a process ended, as a shell would say it: the status, or 128 + the signal.
int exit_code_of(int wait_status);

/// A program started by this process, in a process group of its own, with its output in pipes. The destructor kills and
/// reaps it and all that it left behind, so a failing launcher leaves no process.
class ChildProcess {
 public:
  /// Throws std::system_error where it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& command);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  [[nodiscard]] int output() const noexcept { return output_; }
  [[nodiscard]] int errors() const noexcept { return errors_; }
  /// Sends a signal to the program itself.
  void signal(int number) const noexcept;
  /// Blocks until it has ended.
  int wait();

 private:
  pid_t pid_ = -1;
  int output_ = -1, errors_ = -1;
  bool reaped_ = false;
};

/// Orphans of children become children of this process, where kill_descendants() finds them.
void adopt_orphans();
/// Ends every process below this one. Returns how many there were.
int kill_descendants();

}  // namespace muster::launcher
