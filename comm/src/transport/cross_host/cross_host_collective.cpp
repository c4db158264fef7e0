#include "transport/cross_host/lane.hpp"

namespace muster::detail {

Progress cross_host_collective(Communicator& communicator, const CollectiveCall& call, const Meeting& meeting) {
  LanePart part(communicator, call, meeting);
  switch (call.operation()) {
    case Operation::all_reduce:
    case Operation::reduce:
    case Operation::reduce_scatter:
      co_await ordered_reduction(part);
      break;
    case Operation::all_gather:
      co_await ring_all_gather(part);
      break;
    case Operation::broadcast:
      co_await tree_broadcast(part);
      break;
    case Operation::gather:
      co_await gather_blocks(part);
      break;
    case Operation::scatter:
      co_await scatter_blocks(part);
      break;
    case Operation::all_to_all:
      co_await exchange_blocks(part);
      break;
    case Operation::barrier:
      break;
  }
}

}  // namespace muster::detail
