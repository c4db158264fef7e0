// Allocation, layouts, windows and reports of Client.

#include <fmt/format.h>

#include <numeric>

#include "memory/staging.hpp"
#include "muster/client.hpp"
#include "server/device_service.hpp"
#include "server/records.hpp"

namespace muster {

using detail::Allocation;

/// A handle whose memory the actor provides before it runs `then`, which may be empty.
Handle Client::allocate(std::size_t size_bytes, std::function<void(const Handle&)> then) const {
  auto allocation = std::make_shared<Allocation>(service_id(), size_bytes);
  Handle handle{std::move(allocation), 0, size_bytes};
  const StreamId issued_to = stream();
  service_->actor()->submit(
      make_device_task([service = service_.get(), whole = handle.for_work(), issued_to,
                        mode = service_->modes().of(issued_to).allocation, then = std::move(then)](DeviceContext&) {
        service->server().provide(*whole.allocation(), issued_to, mode);
        if (then) then(whole);
      }));
  return handle;
}

Handle Client::empty(std::size_t size_bytes) const { return allocate(size_bytes, {}); }

Handle Client::create(Bytes bytes) const {
  const std::size_t size = bytes.size();
  auto allocation = std::make_shared<Allocation>(service_id(), size);
  Handle handle{std::move(allocation), 0, size};
  const StreamId issued_to = stream();
  service_->actor()->submit(make_device_task([service = service_.get(), whole = handle.for_work(), issued_to,
                                              mode = service_->modes().of(issued_to).allocation,
                                              bytes = std::move(bytes)](DeviceContext&) mutable {
    auto& server = service->server();
    server.provide(*whole.allocation(), issued_to, mode);
    const Rows rows = Rows::packed(bytes.size());
    server.enqueue(issued_to, server.driver().make_write(std::move(whole), rows, std::move(bytes)));
  }));
  return handle;
}

void Client::write(const Handle& handle, Bytes bytes) const {
  require_own(handle);
  if (bytes.size() != handle.size()) {
    throw UsageError(
        fmt::format("{} bytes cannot be written to a handle of {} bytes; slice the handle", bytes.size(), handle.size()));
  }
  service_->actor()->submit(make_device_task([service = service_.get(), handle = handle.for_work(), stream = stream(),
                                              bytes = std::move(bytes)](DeviceContext&) mutable {
    auto& server = service->server();
    const Rows rows = Rows::packed(bytes.size());
    server.enqueue(stream, server.driver().make_write(std::move(handle), rows, std::move(bytes)));
  }));
}

void Client::copy(const Handle& source, const Handle& destination) const {
  require_own(source);
  require_own(destination);
  if (source.size() != destination.size()) {
    throw UsageError(
        fmt::format("cannot copy {} bytes to {} bytes; slice the larger handle", source.size(), destination.size()));
  }
  service_->actor()->submit(make_device_task([service = service_.get(), source = source.for_work(),
                                              destination = destination.for_work(), stream = stream()](DeviceContext&) {
    auto& server = service->server();
    server.enqueue(stream, server.driver().make_copy(source, destination));
  }));
}

namespace {

/// Where each tensor goes in an allocation that they share.
struct SharedLayout {
  std::vector<std::size_t> offsets;
  std::vector<Rows> rows;
  std::vector<std::vector<std::size_t>> strides;
  std::size_t size = 0;
};

void place(SharedLayout& layout, const std::vector<std::size_t>& shape, std::size_t element_size, LayoutPolicy policy) {
  constexpr std::size_t alignment = detail::PageSpace::alignment;
  auto strides = strides_of(shape, element_size, policy);
  const Rows rows = rows_of(shape, strides, element_size);
  layout.offsets.push_back((layout.size + alignment - 1) / alignment * alignment);
  // The last row is padded as the others are, so that kernels may read whole rows.
  layout.size = layout.offsets.back() + rows.count * rows.pitch;
  layout.rows.push_back(rows);
  layout.strides.push_back(std::move(strides));
}

std::vector<MemoryLayout> slices_of(const Handle& whole, SharedLayout& layout) {
  std::vector<MemoryLayout> tensors;
  for (std::size_t i = 0; i < layout.offsets.size(); ++i) {
    const Rows& rows = layout.rows[i];
    tensors.push_back({whole.slice(layout.offsets[i], rows.count * rows.pitch), std::move(layout.strides[i])});
  }
  return tensors;
}

}  // namespace

std::vector<MemoryLayout> Client::empty_tensors(std::span<const TensorShape> tensors) const {
  SharedLayout layout;
  for (const TensorShape& tensor : tensors) place(layout, tensor.shape, tensor.element_size, service_->options().layout);
  return slices_of(empty(layout.size), layout);
}

MemoryLayout Client::empty_tensor(std::vector<std::size_t> shape, std::size_t element_size) const {
  const TensorShape tensor{std::move(shape), element_size};
  return std::move(empty_tensors({&tensor, 1}).front());
}

std::vector<MemoryLayout> Client::create_tensors(std::vector<TensorData> tensors) const {
  SharedLayout layout;
  for (const TensorData& tensor : tensors) {
    place(layout, tensor.shape, tensor.element_size, service_->options().layout);
    if (layout.rows.back().packed_size() != tensor.bytes.size()) {
      throw UsageError(fmt::format("{} bytes were given for a tensor of {} bytes; give all its elements, packed",
                                   tensor.bytes.size(), layout.rows.back().packed_size()));
    }
  }
  const Handle whole = empty(layout.size);
  std::vector<std::pair<Rows, Bytes>> contents;
  for (std::size_t i = 0; i < tensors.size(); ++i) contents.emplace_back(layout.rows[i], std::move(tensors[i].bytes));
  auto made = slices_of(whole, layout);
  std::vector<Handle> parts;
  for (const MemoryLayout& tensor : made) parts.push_back(tensor.handle.for_work());
  service_->actor()->submit(make_device_task([service = service_.get(), stream = stream(), parts = std::move(parts),
                                              contents = std::move(contents)](DeviceContext&) mutable {
    auto& server = service->server();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      auto& [rows, bytes] = contents[i];
      server.enqueue(stream, server.driver().make_write(std::move(parts[i]), rows, std::move(bytes)));
    }
  }));
  return made;
}

MemoryLayout Client::create_tensor(Bytes bytes, std::vector<std::size_t> shape, std::size_t element_size) const {
  std::vector<TensorData> tensors;
  tensors.push_back({std::move(bytes), std::move(shape), element_size});
  return std::move(create_tensors(std::move(tensors)).front());
}

std::size_t Client::staging(std::span<Bytes> bytes, StagingScope scope) const {
  std::size_t moved = 0;
  for (Bytes& each : bytes) {
    const bool candidate =
        each.kind() == BytesKind::file || (each.kind() == BytesKind::owned && scope == StagingScope::all);
    if (candidate && detail::move_to_pinned(each)) ++moved;
  }
  return moved;
}

std::span<std::byte> Client::resource_of(const Handle& handle, Backend backend) const {
  if (backend != device_id().backend) throw ServiceMismatch(std::string(muster::name(backend)), to_string(service_id()));
  return {keep_in_place(handle).address, handle.size()};
}

MemoryView Client::keep_in_place(const Handle& handle) const {
  require_own(handle);
  // It may share its storage with a lazy read, and moves away from that now.
  bool moves = false;
  service_->actor()->submit_blocking([&] { moves = service_->server().keep_in_place(stream(), handle); });
  if (moves) sync();
  check(std::span<const Handle>(&handle, 1));
  return memory_of(handle);
}

AllocationMode Client::allocation_mode(AllocationMode mode) const { return service_->modes().set(stream(), mode); }

MemoryReport Client::memory_report(MemoryScope scope) const {
  MemoryReport report;
  service_->actor()->submit_blocking([&] {
    auto& pools = service_->server().pools();
    report = scope == MemoryScope::device ? pools.report(device_id()) : pools.report(device_id(), stream());
  });
  report.pinned = detail::pinned_memory();
  return report;
}

void Client::record_memory(std::string_view label) const {
  if (!detail::records_on()) return;
  service_->actor()->submit(
      make_device_task([service = service_.get(), device = device_id(), label = std::string(label)](DeviceContext&) {
        MemoryReport report = service->server().pools().report(device);
        report.pinned = detail::pinned_memory();
        detail::append_record(report.to_json(label));
      }));
}

void Client::memory_cleanup() const {
  if (service_->modes().any_capturing()) {
    throw UsageError("memory_cleanup is not possible while a stream of the device records a graph; stop the capture first");
  }
  service_->actor()->submit_blocking([&] { service_->server().pools().trim(); });
}

}  // namespace muster
