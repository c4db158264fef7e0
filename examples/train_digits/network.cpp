#include "network.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "digits.hpp"

namespace train_digits {

using muster::Argument;
using muster::Dim3;
using muster::Handle;
using muster::Kernel;
using muster::KernelContext;

namespace {

Argument number(int value) { return Argument::scalar(std::int64_t{value}); }

/// outputs = relu(inputs * weights^T + bias); one point per image. Arguments: inputs, weights, outputs, first, inputs per
/// image, outputs per image, whether to apply the ReLU.
const Kernel layer_forward("layer_forward", [](const KernelContext& at) {
  const auto inputs = at.buffer<float>(0), weights = at.buffer<float>(1), outputs = at.buffer<float>(2);
  const auto first = at.integer(3), in = at.integer(4), out = at.integer(5);
  const float* x = inputs.data() + (first + at.point().x) * in;
  float* y = outputs.data() + at.point().x * out;
  for (std::int64_t o = 0; o < out; ++o) {
    const float* row = weights.data() + o * (in + 1);
    float sum = row[in];
    for (std::int64_t i = 0; i < in; ++i) sum += row[i] * x[i];
    y[o] = at.integer(6) != 0 ? std::max(sum, 0.0F) : sum;
  }
});

/// Softmax and cross entropy: deltas = probabilities - one-hot labels, and the sum of the losses. Arguments: outputs,
/// labels, deltas, loss, first, count.
const Kernel cross_entropy("cross_entropy", [](const KernelContext& at) {
  const auto outputs = at.buffer<float>(0), labels = at.buffer<float>(1), deltas = at.buffer<float>(2),
             loss = at.buffer<float>(3);
  float total = 0;
  for (std::int64_t image = 0; image < at.integer(5); ++image) {
    const float* y = outputs.data() + image * classes;
    float* d = deltas.data() + image * classes;
    const auto label = static_cast<std::int64_t>(labels[at.integer(4) + image]);
    const float largest = *std::max_element(y, y + classes);
    float sum = 0;
    for (int c = 0; c < classes; ++c) sum += d[c] = std::exp(y[c] - largest);
    for (int c = 0; c < classes; ++c) d[c] /= sum;
    total -= std::log(d[label]);
    d[label] -= 1.0F;
  }
  loss[0] = total;
});

/// The gradients of a layer; one point per output. Arguments: deltas, inputs, grads, first, inputs per image, outputs per
/// image, count.
const Kernel layer_gradients("layer_gradients", [](const KernelContext& at) {
  const auto deltas = at.buffer<float>(0), inputs = at.buffer<float>(1), grads = at.buffer<float>(2);
  const auto in = at.integer(4), out = at.integer(5);
  float* row = grads.data() + at.point().x * (in + 1);
  std::fill(row, row + in + 1, 0.0F);
  for (std::int64_t image = 0; image < at.integer(6); ++image) {
    const float delta = deltas[image * out + at.point().x];
    const float* x = inputs.data() + (at.integer(3) + image) * in;
    for (std::int64_t i = 0; i < in; ++i) row[i] += delta * x[i];
    row[in] += delta;
  }
});

/// The deltas of the layer below, through its ReLU; one point per image. Arguments: deltas, weights, activations below,
/// deltas below, inputs, outputs.
const Kernel layer_backward("layer_backward", [](const KernelContext& at) {
  const auto deltas = at.buffer<float>(0), weights = at.buffer<float>(1), below = at.buffer<float>(2),
             result = at.buffer<float>(3);
  const auto in = at.integer(4), out = at.integer(5);
  float* d = result.data() + at.point().x * in;
  std::fill(d, d + in, 0.0F);
  for (std::int64_t o = 0; o < out; ++o) {
    const float delta = deltas[at.point().x * out + o];
    const float* row = weights.data() + o * (in + 1);
    for (std::int64_t i = 0; i < in; ++i) d[i] += delta * row[i];
  }
  const float* a = below.data() + at.point().x * in;
  for (std::int64_t i = 0; i < in; ++i) d[i] = a[i] > 0 ? d[i] : 0.0F;
});

/// weights -= rate * grads.
const Kernel descend("descend", [](const KernelContext& at) {
  const auto weights = at.buffer<float>(0), grads = at.buffer<float>(1);
  const auto rate = static_cast<float>(at.real(2));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= rate * grads[i];
});

}  // namespace

Network::Network(muster::Client client, const std::vector<int>& sizes, int largest_batch) : client_(std::move(client)) {
  std::uint64_t state = 1;
  const auto uniform = [&state] {  // Knuth's MMIX generator, in [-1, 1)
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<float>(static_cast<std::int64_t>(state >> 40U)) / static_cast<float>(1U << 23U) - 1.0F;
  };
  for (std::size_t layer = 0; layer + 1 < sizes.size(); ++layer) {
    const int in = sizes[layer], out = sizes[layer + 1];
    std::vector<float> weights(static_cast<std::size_t>(out) * (in + 1));
    for (float& weight : weights) weight = uniform() * std::sqrt(3.0F / static_cast<float>(in));
    for (int o = 0; o < out; ++o) weights[static_cast<std::size_t>(o) * (in + 1) + in] = 0;
    const std::size_t batch_bytes = sizeof(float) * largest_batch * out;
    layers_.push_back({in, out, client_.create_from_slice<float>(weights), client_.empty(weights.size() * sizeof(float)),
                       client_.empty(batch_bytes), client_.empty(batch_bytes)});
  }
  loss_ = client_.empty(sizeof(float));
}

void Network::forward(const Handle& images, int first, int count) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    client_.launch(layer_forward, Dim3{static_cast<std::uint32_t>(count)},
                   {Argument::in(i == 0 ? images : layers_[i - 1].activations), Argument::in(layer.weights),
                    Argument::out(layer.activations), number(i == 0 ? first : 0), number(layer.inputs),
                    number(layer.outputs), number(i + 1 < layers_.size() ? 1 : 0)});
  }
}

void Network::gradients(const Handle& images, const Handle& labels, int first, int count,
                        const std::function<void(int)>& layer_done) {
  forward(images, first, count);
  client_.launch(cross_entropy, Dim3{},
                 {Argument::in(layers_.back().activations), Argument::in(labels), Argument::out(layers_.back().deltas),
                  Argument::out(loss_), number(first), number(count)});
  for (int i = layers() - 1; i >= 0; --i) {
    const Layer& layer = layers_[i];
    client_.launch(
        layer_gradients, Dim3{static_cast<std::uint32_t>(layer.outputs)},
        {Argument::in(layer.deltas), Argument::in(i == 0 ? images : layers_[i - 1].activations), Argument::out(layer.grads),
         number(i == 0 ? first : 0), number(layer.inputs), number(layer.outputs), number(count)});
    layer_done(i);
    if (i == 0) break;
    client_.launch(layer_backward, Dim3{static_cast<std::uint32_t>(count)},
                   {Argument::in(layer.deltas), Argument::in(layer.weights), Argument::in(layers_[i - 1].activations),
                    Argument::out(layers_[i - 1].deltas), number(layer.inputs), number(layer.outputs)});
  }
}

void Network::update(float rate) {
  for (const Layer& layer : layers_) {
    client_.launch(
        descend, Dim3{},
        {Argument::in_out(layer.weights), Argument::in(layer.grads), Argument::scalar(static_cast<double>(rate))});
  }
}

int Network::right(const Handle& images, const Handle& labels, int first, int count) {
  forward(images, first, count);
  const muster::Bytes outputs = client_.read(layers_.back().activations), wanted = client_.read(labels);
  int right = 0;
  for (int image = 0; image < count; ++image) {
    const auto row = outputs.as<float>().subspan(static_cast<std::size_t>(image) * classes, classes);
    const auto told = std::max_element(row.begin(), row.end()) - row.begin();
    right += static_cast<float>(told) == wanted.as<float>()[first + image] ? 1 : 0;
  }
  return right;
}

}  // namespace train_digits
