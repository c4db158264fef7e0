#pragma once

#include <memory>
#include <string>
#include <vector>

#include "muster/deadline.hpp"
#include "muster/device.hpp"

namespace muster {

/// Lets the processes of a job find each other, once, when a World forms. Nothing depends on it later.
class Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  [[nodiscard]] virtual RankId rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// What each rank gave, by rank. Collective; throws TimedOut at the deadline.
  virtual std::vector<std::string> all_gather(const std::string& mine, Deadline deadline) = 0;
  /// The orderly end: waits for all ranks until the deadline. Whether all came.
  virtual bool finish(Deadline deadline) = 0;
};

/// Over MPI, which is started if it is not running, and ended by finish() if it was started here. Throws
/// BootstrapFailed, also where a launcher's variables say that there are more ranks than MPI knows of.
std::unique_ptr<Bootstrap> mpi_bootstrap();

/// One process by itself.
std::unique_ptr<Bootstrap> solo_bootstrap();

}  // namespace muster
