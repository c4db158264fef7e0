#pragma once

#include <cstdint>
#include <string>

#include "muster/device.hpp"
#include "muster/error.hpp"

namespace muster {

/// Ranks of a group issued different operations. The message names both sides; the group is broken.
class CollectiveMismatch : public TypedError<CollectiveMismatch> {
 public:
  explicit CollectiveMismatch(const std::string& message) : TypedError(ErrorCode::mismatch, message) {}
};

/// A rank of the group is gone. The group is broken.
class PeerLost : public TypedError<PeerLost> {
 public:
  PeerLost(RankId rank, const std::string& message) : TypedError(ErrorCode::peer_lost, message), rank_(rank) {}
  [[nodiscard]] RankId rank() const noexcept { return rank_; }

 private:
  RankId rank_;
};

/// A member could not contribute: its source carried a failure. The group goes on.
class PeerFailed : public TypedError<PeerFailed> {
 public:
  PeerFailed(RankId rank, const std::string& message) : TypedError(ErrorCode::peer_failed, message), rank_(rank) {}
  [[nodiscard]] RankId rank() const noexcept { return rank_; }

 private:
  RankId rank_;
};

/// The job, or its links, could not be set up.
class BootstrapFailed : public TypedError<BootstrapFailed> {
 public:
  explicit BootstrapFailed(const std::string& message) : TypedError(ErrorCode::bootstrap_failed, message) {}
};

}  // namespace muster
