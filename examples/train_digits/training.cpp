#include "training.hpp"

#include <span>

#include "network.hpp"

namespace train_digits {

using muster::Argument;
using muster::Client;
using muster::Handle;

namespace {

const std::vector<int> layer_sizes{pixels, 64, 32, classes};

/// The data on the device, and the arithmetic of batches.
struct Course {
  const Plan& plan;
  Handle images, labels;
  int steps_per_epoch, per_part, test_images;

  Course(const Client& client, const Digits& digits, const Plan& of_plan)
      : plan(of_plan),
        images(client.create_from_slice<float>(std::span<const float>(digits.images))),
        labels(client.create_from_slice<float>(std::span<const float>(digits.labels))),
        steps_per_epoch(of_plan.trained_on / of_plan.batch),
        per_part(of_plan.batch / of_plan.parts),
        test_images(digits.count() - of_plan.trained_on) {}

  [[nodiscard]] int steps() const { return plan.epochs * steps_per_epoch; }
  [[nodiscard]] int first_image(int step, int part) const { return step % steps_per_epoch * plan.batch + part * per_part; }
  [[nodiscard]] float rate() const { return plan.rate / static_cast<float>(plan.batch); }
  [[nodiscard]] float mean(float total) const { return total / static_cast<float>(plan.batch); }
  [[nodiscard]] int largest_batch() const { return std::max(per_part, test_images); }
};

/// to += what
const muster::Kernel accumulate("accumulate", [](const muster::KernelContext& at) {
  const auto to = at.buffer<float>(0), what = at.buffer<float>(1);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += what[i];
});

}  // namespace

Outcome train_together(const muster::ClientGroup& group, const Client& client, const Digits& digits, const Plan& plan,
                       const OnStep& on_step) {
  const Course course(client, digits, plan);
  Network network(client, layer_sizes, course.largest_batch());
  const int part = group.index_of(client);
  const muster::CollectiveOptions overlapped{muster::ComputeWait::at_sync, muster::Reproducibility::exact};
  const auto sum_over_ranks = [&](const Handle& values) {
    group.all_reduce(client, values, values, muster::Dtype::f32, muster::ReduceOp::sum, overlapped);
  };
  Outcome outcome;
  for (int step = 0; step < course.steps(); ++step) {
    network.gradients(course.images, course.labels, course.first_image(step, part), course.per_part, [&](int layer) {
      sum_over_ranks(network.grads(layer));
      client.flush();  // the all-reduce moves while this thread enqueues, and runs, the layers below
    });
    sum_over_ranks(network.loss());
    group.sync_collective(client);
    network.update(course.rate());
    outcome.losses.push_back(course.mean(client.read(network.loss()).as<float>()[0]));
    on_step(step + 1, course.steps(), outcome.losses.back());
  }
  outcome.accuracy = static_cast<double>(network.right(course.images, course.labels, plan.trained_on, course.test_images)) /
                     course.test_images;
  return outcome;
}

Outcome train_alone(const Client& client, const Digits& digits, const Plan& plan, const OnStep& on_step) {
  const Course course(client, digits, plan);
  Network network(client, layer_sizes, course.largest_batch());
  Outcome outcome;
  std::vector<Handle> sums;
  for (int layer = 0; layer < network.layers(); ++layer) sums.push_back(client.empty(network.grads(layer).size()));
  const Handle loss = client.empty(sizeof(float));
  const auto add = [&](const Handle& sum, const Handle& values, bool first) {
    if (first) {
      client.copy(values, sum);
    } else {
      client.launch(accumulate, {}, {Argument::in_out(sum), Argument::in(values)});
    }
  };
  for (int step = 0; step < course.steps(); ++step) {
    for (int part = 0; part < plan.parts; ++part) {
      network.gradients(course.images, course.labels, course.first_image(step, part), course.per_part,
                        [&](int layer) { add(sums[layer], network.grads(layer), part == 0); });
      add(loss, network.loss(), part == 0);
    }
    for (int layer = 0; layer < network.layers(); ++layer) client.copy(sums[layer], network.grads(layer));
    network.update(course.rate());
    outcome.losses.push_back(course.mean(client.read(loss).as<float>()[0]));
    on_step(step + 1, course.steps(), outcome.losses.back());
  }
  outcome.accuracy = static_cast<double>(network.right(course.images, course.labels, plan.trained_on, course.test_images)) /
                     course.test_images;
  return outcome;
}

}  // namespace train_digits
