#pragma once

#include <muster/client.hpp>

#include <functional>
#include <vector>

namespace train_digits {

/// A network of fully connected layers with ReLU between them, on one device. Its state is in device memory; its work is
/// kernels in the stream of the calling thread.
class Network {
 public:
  /// `sizes`: inputs, hidden layers, outputs. Weights are drawn from a fixed seed: equal on all ranks.
  Network(muster::Client client, const std::vector<int>& sizes, int largest_batch);

  /// Forward and backward over `count` images from `first` on; leaves the gradients' sum over the images in grads(), and
  /// the sum of their losses in loss(). `layer_done(layer)` is called when the kernels for a layer's gradients are
  /// enqueued, the last layer first.
  void gradients(const muster::Handle& images, const muster::Handle& labels, int first, int count,
                 const std::function<void(int layer)>& layer_done);
  /// Moves the weights against the gradients, by `rate`.
  void update(float rate);
  /// How many of `count` images from `first` on are told rightly. Blocks.
  int right(const muster::Handle& images, const muster::Handle& labels, int first, int count);

  [[nodiscard]] int layers() const { return static_cast<int>(layers_.size()); }
  [[nodiscard]] const muster::Handle& grads(int layer) const { return layers_[layer].grads; }
  [[nodiscard]] const muster::Handle& loss() const { return loss_; }

 private:
  struct Layer {
    int inputs, outputs;
    muster::Handle weights, grads;  // a row per output, with its bias at the end
    muster::Handle activations, deltas;
  };
  void forward(const muster::Handle& images, int first, int count);

  muster::Client client_;
  std::vector<Layer> layers_;
  muster::Handle loss_;
};

}  // namespace train_digits
