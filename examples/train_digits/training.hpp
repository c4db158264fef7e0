#pragma once

#include <muster/client_group.hpp>

#include <functional>
#include <vector>

#include "digits.hpp"

namespace train_digits {

struct Plan {
  int epochs = 20;
  int batch = 64;         ///< images per step, over all ranks
  int parts = 1;          ///< that a batch is split into: one per rank
  int trained_on = 1500;  ///< images; the rest is for the test
  float rate = 0.3F;
};

struct Outcome {
  std::vector<float> losses;  ///< mean over each step's batch
  double accuracy = 0;        ///< on the images not trained on
};

/// Called after every step with the number of steps done, and the loss.
using OnStep = std::function<void(int done, int steps, float loss)>;

/// Each rank trains on its part of every batch.
Outcome train_together(const muster::ClientGroup& group, const muster::Client& client, const Digits& digits,
                       const Plan& plan, const OnStep& on_step);
/// One device trains on all parts, one after another, and adds them up in the order of the parts.
Outcome train_alone(const muster::Client& client, const Digits& digits, const Plan& plan, const OnStep& on_step);

}  // namespace train_digits
