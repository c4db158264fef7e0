#pragma once

#include <mpi.h>

#include <vector>

#include "bench/bench_points.hpp"

namespace muster::launcher {

/// The same operation through MPI, on ordinary memory.
class MpiPeer {
 public:
  /// Throws std::invalid_argument where MPI has no such dtype or operation.
  MpiPeer(const BenchPoint& point, int rank);

  void fill(unsigned turn) { point_.fill(source_, rank_, turn); }
  void run();
  [[nodiscard]] std::size_t wrong(unsigned turn) const { return point_.wrong(destination_, rank_, turn); }

 private:
  BenchPoint point_;
  int rank_;
  MPI_Datatype type_;
  MPI_Op op_ = MPI_OP_NULL;
  std::vector<std::byte> source_, destination_;
};

}  // namespace muster::launcher
