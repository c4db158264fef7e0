// The only file that calls MPI.

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <thread>

#include "muster/bootstrap.hpp"
#include "muster/collective_error.hpp"

namespace muster {

namespace {

void check(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw BootstrapFailed(fmt::format("{} failed: {}", call, text.data()));
}

/// Waits for a request without blocking in MPI, so that the deadline holds.
void finish_request(MPI_Request request, const char* call, Deadline deadline) {
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
  while (!done) {
    if (deadline.passed()) {
      throw TimedOut(
          fmt::format("{} did not end before the deadline: a rank has not come to this point; look for one that "
                      "failed earlier, or raise MUSTER_TIMEOUT",
                      call));
    }
    std::this_thread::yield();
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
  }
}

/// What a launcher says of the number of ranks, or 0.
int size_by_launcher() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* value = std::getenv(variable)) return std::atoi(value);
  }
  return 0;
}

class MpiBootstrap final : public Bootstrap {
 public:
  MpiBootstrap() {
    int running = 0, ended = 0;
    MPI_Finalized(&ended);
    if (ended) throw BootstrapFailed("MPI was finalized in this process, and cannot begin again; form the world before");
    check(MPI_Initialized(&running), "MPI_Initialized");
    if (!running) {
      int provided = MPI_THREAD_SINGLE;
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
      started_here_ = true;
    }
    check(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(world_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(world_, &size_), "MPI_Comm_size");
    const int launched = size_by_launcher();
    if (size_ == 1 && launched > 1) {
      throw BootstrapFailed(
          fmt::format("the launcher started {} ranks, but MPI knows of one: mpirun and the MPI library of "
                      "this program are of different kinds; start it with the mpirun of the library it "
                      "is linked with",
                      launched));
    }
  }

  [[nodiscard]] RankId rank() const override { return {rank_}; }
  [[nodiscard]] int size() const override { return size_; }

  std::vector<std::string> all_gather(const std::string& mine, Deadline deadline) override {
    const auto count = static_cast<std::size_t>(size_);
    if (mine.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      throw BootstrapFailed("a rank's card is larger than MPI can carry");
    }
    const int size = static_cast<int>(mine.size());
    std::vector<int> sizes(count), offsets(count);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, world_, &request), "MPI_Iallgather");
    finish_request(request, "MPI_Iallgather", deadline);
    std::int64_t total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      offsets[i] = static_cast<int>(total);
      total += sizes[i];
    }
    if (total > std::numeric_limits<int>::max()) throw BootstrapFailed("the ranks' cards are larger than MPI can carry");
    std::string all(static_cast<std::size_t>(total), '\0');
    check(
        MPI_Iallgatherv(mine.data(), size, MPI_BYTE, all.data(), sizes.data(), offsets.data(), MPI_BYTE, world_, &request),
        "MPI_Iallgatherv");
    finish_request(request, "MPI_Iallgatherv", deadline);
    std::vector<std::string> parts(count);
    for (std::size_t i = 0; i < count; ++i) parts[i] = all.substr(offsets[i], sizes[i]);
    return parts;
  }

  bool finish(Deadline deadline) override {
    int ended = 0;
    check(MPI_Finalized(&ended), "MPI_Finalized");
    if (ended) return true;
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(world_, &request), "MPI_Ibarrier");
    try {
      finish_request(request, "MPI_Ibarrier", deadline);
    } catch (const TimedOut&) {
      return false;  // a rank is missing: MPI_Finalize would wait for it without end
    }
    check(MPI_Comm_free(&world_), "MPI_Comm_free");
    if (started_here_) check(MPI_Finalize(), "MPI_Finalize");
    return true;
  }

 private:
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool started_here_ = false;
};

}  // namespace

std::unique_ptr<Bootstrap> mpi_bootstrap() { return std::make_unique<MpiBootstrap>(); }

}  // namespace muster
