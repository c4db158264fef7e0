#include "muster/peer_handle.hpp"

#include "memory/shared_memory.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {
const detail::SharedMemory& require(const std::shared_ptr<const detail::SharedMemory>& memory) {
  if (!memory) throw UsageError("the peer handle is empty; make one with Client::share_with_peers");
  return *memory;
}
}  // namespace

ServiceId PeerHandle::service_id() const { return require(memory_).owner; }
std::size_t PeerHandle::size() const { return require(memory_).size; }

PeerHandle import_peer_memory(ServiceId owner, MemoryView view, std::size_t size_bytes, std::shared_ptr<void> mapping) {
  return PeerHandle(
      std::make_shared<const detail::SharedMemory>(detail::SharedMemory{owner, view, size_bytes, {}, std::move(mapping)}));
}

MemoryView memory_of(const PeerHandle& handle) { return require(handle.memory()).view; }

}  // namespace muster
