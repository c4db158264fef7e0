#pragma once

#include "group/guarded_progress.hpp"
#include "muster/device_work.hpp"

namespace muster::detail {

enum class Direction : std::uint8_t { send, receive };

/// One half of a transfer between two members, in a stream of that pair and direction.
class TransferOperation final : public StreamOperation {
 public:
  TransferOperation(std::shared_ptr<GroupState> group, Communicator& communicator, Direction direction, int peer,
                    std::uint64_t number, Handle handle);

  bool poll() override;
  [[nodiscard]] std::span<const Handle> reads() const override {
    return {&handle_, direction_ == Direction::send ? 1U : 0U};
  }
  [[nodiscard]] std::span<const Handle> writes() const override {
    return {&handle_, direction_ == Direction::receive ? 1U : 0U};
  }
  bool accepts_tainted(const Failure& failure) override;

 private:
  Progress run();
  Progress send_on_host();
  Progress receive_on_host();
  Progress send_across();
  Progress receive_across();
  [[noreturn]] void mismatch(std::uint64_t sent, std::uint64_t expected) const;
  [[noreturn]] void sender_failed() const;

  GuardedProgress guard_;
  Communicator& communicator_;
  Direction direction_;
  int peer_;
  std::uint64_t number_;
  Handle handle_;
  Failure source_failure_;
};

}  // namespace muster::detail
