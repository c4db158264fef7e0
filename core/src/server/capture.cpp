#include "server/capture.hpp"

#include <algorithm>

#include "muster/error.hpp"
#include "server/run_operation.hpp"
#include "server/storage_view.hpp"

namespace muster::detail {

void Capture::start() {
  kept_.clear();
  body_ = std::make_shared<GraphBody>();
  failure_ = nullptr;
  stage_ = Stage::recording;
}

void Capture::note(std::vector<Handle>& known, std::span<const Handle> used) {
  for (const Handle& handle : used) {
    const auto same = std::find_if(known.begin(), known.end(), [&](const Handle& each) {
      return each.allocation() == handle.allocation() && each.offset() == handle.offset() && each.size() == handle.size();
    });
    if (same == known.end()) known.push_back(handle.for_work());
  }
}

std::unique_ptr<StreamOperation> Capture::record(std::unique_ptr<StreamOperation> operation) {
  if (!operation->repeatable()) {
    const Failure failure = std::make_shared<const CaptureFailed>(
        "a graph cannot record a host write, a read, a transfer or a profiling mark; write between replays instead");
    fail(failure);
    return std::make_unique<RefusedOperation>(std::move(operation), failure);
  }
  note(body_->reads, operation->reads());
  note(body_->writes, operation->writes());
  if (const auto stream = operation->ordered_with()) {
    auto& streams = body_->ordered_streams;
    if (std::find(streams.begin(), streams.end(), *stream) == streams.end()) streams.push_back(*stream);
    body_->waits_for_peers = true;
  }
  body_->operations.push_back(std::move(operation));
  return nullptr;
}

void Capture::fail(const Failure& failure) {
  if (!failure_) failure_ = failure;
}

std::shared_ptr<GraphBody> Capture::stop() {
  stage_ = Stage::idle;
  auto body = std::move(body_);
  if (failure_) std::exchange(failure_, nullptr)->raise();
  return body;
}

GraphRun::GraphRun(std::shared_ptr<const GraphBody> body, DeviceContext& device) : body_(std::move(body)) {
  if (body_->ordered_streams.empty()) return;
  issued_.reserve(body_->operations.size());
  for (const auto& operation : body_->operations) issued_.push_back(operation->issue_again(device));
}

bool GraphRun::poll() {
  for (; at_ < body_->operations.size(); ++at_) {
    if (!run_step(operation_at(at_), std::exchange(started_, true))) return false;
    started_ = false;
  }
  return true;
}

void GraphRun::failed(const Failure& failure) {
  for (; at_ < body_->operations.size(); ++at_) end_with(operation_at(at_), failure);
}

}  // namespace muster::detail
