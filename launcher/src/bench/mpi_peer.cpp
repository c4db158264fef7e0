#include "bench/mpi_peer.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace muster::launcher {

namespace {

MPI_Datatype type_for(Dtype dtype, bool reduces) {
  switch (dtype) {
    case Dtype::i8:
      return MPI_INT8_T;
    case Dtype::u8:
      return MPI_UINT8_T;
    case Dtype::i16:
      return MPI_INT16_T;
    case Dtype::u16:
      return MPI_UINT16_T;
    case Dtype::i32:
      return MPI_INT32_T;
    case Dtype::u32:
      return MPI_UINT32_T;
    case Dtype::i64:
      return MPI_INT64_T;
    case Dtype::u64:
      return MPI_UINT64_T;
    case Dtype::f32:
      return MPI_FLOAT;
    case Dtype::f64:
      return MPI_DOUBLE;
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::f8_e4m3:
    case Dtype::f8_e5m2:
    case Dtype::boolean:
      break;
  }
  if (reduces)
    throw std::invalid_argument(fmt::format("MPI has no reductions of {}; leave --compare mpi out", name(dtype)));
  return size_of(dtype) == 2 ? MPI_UINT16_T : MPI_UINT8_T;
}

MPI_Op op_for(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return MPI_SUM;
    case ReduceOp::product:
      return MPI_PROD;
    case ReduceOp::min:
      return MPI_MIN;
    case ReduceOp::max:
      return MPI_MAX;
    case ReduceOp::bit_and:
      return MPI_BAND;
    case ReduceOp::bit_or:
      return MPI_BOR;
    case ReduceOp::bit_xor:
      return MPI_BXOR;
    case ReduceOp::average:
      break;
  }
  throw std::invalid_argument("MPI has no 'average'; leave --compare mpi out");
}

}  // namespace

MpiPeer::MpiPeer(const BenchPoint& point, int rank)
    : point_(point), rank_(rank), source_(point.source_bytes()), destination_(point.destination_bytes()) {
  const bool reduces = point.operation() == Measured::all_reduce || point.operation() == Measured::reduce ||
                       point.operation() == Measured::reduce_scatter;
  type_ = type_for(point.dtype(), reduces);
  if (reduces) op_ = op_for(point.op());
}

void MpiPeer::run() {
  const std::size_t element = size_of(point_.dtype());
  const int sent = static_cast<int>(source_.size() / element), received = static_cast<int>(destination_.size() / element);
  int members = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &members);
  switch (point_.operation()) {
    case Measured::all_reduce:
      MPI_Allreduce(source_.data(), destination_.data(), sent, type_, op_, MPI_COMM_WORLD);
      break;
    case Measured::reduce:
      MPI_Reduce(source_.data(), destination_.data(), sent, type_, op_, BenchPoint::root(), MPI_COMM_WORLD);
      break;
    case Measured::all_gather:
      MPI_Allgather(source_.data(), sent, type_, destination_.data(), sent, type_, MPI_COMM_WORLD);
      break;
    case Measured::reduce_scatter:
      MPI_Reduce_scatter_block(source_.data(), destination_.data(), received, type_, op_, MPI_COMM_WORLD);
      break;
    case Measured::broadcast:
      // MPI broadcasts in place: the root sends from its source, the others receive into their destination.
      MPI_Bcast(rank_ == BenchPoint::root() ? source_.data() : destination_.data(), sent, type_, BenchPoint::root(),
                MPI_COMM_WORLD);
      if (rank_ == BenchPoint::root()) std::copy(source_.begin(), source_.end(), destination_.begin());
      break;
    case Measured::all_to_all:
      MPI_Alltoall(source_.data(), sent / members, type_, destination_.data(), sent / members, type_, MPI_COMM_WORLD);
      break;
  }
}

}  // namespace muster::launcher
