#pragma once

#include <muster/client_group.hpp>
#include <muster/kernels.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace decode_loop {

struct Shape {
  std::uint32_t vocabulary = 96, width = 64, heads = 4, layers = 3, inner = 256, longest = 128;
  [[nodiscard]] std::uint32_t head_size() const noexcept { return width / heads; }
};

/// A part of a transformer: its share of the heads and of the inner layer. All parts together are the model; the partial
/// results of attention and of the inner layer are summed over them.
class Part {
 public:
  /// Part `index` of `parts` on `client`'s device. Weights are a function of the shape alone.
  Part(const muster::Client& client, const Shape& shape, std::uint32_t index, std::uint32_t parts);

  struct Layer {
    muster::Handle qkv, attention_out, inner_in, inner_out;  // weights
    muster::Handle scale_1, shift_1, scale_2, shift_2;       // of the layer norms
    muster::Handle keys, values;                             // of the positions so far
  };
  muster::Client client;
  Shape shape;
  std::uint32_t heads, inner;  // of this part
  std::vector<Layer> layers;
  muster::Handle tokens, positions, out_scale, out_shift, out_weights;
};

/// Decodes with one part, or with all of them one after the other.
class Decoder {
 public:
  /// Sums a partial result over all parts, in place.
  using Sum = std::function<void(const muster::Handle&)>;
  /// `parts` are on one device. `sum_outside` sums over the parts of the other ranks, where there are any.
  Decoder(std::vector<Part> parts, Sum sum_outside);

  /// Enqueues one step.
  void step() const;
  /// Begins anew with this token.
  void begin(std::uint32_t token) const;
  /// Blocks. What was chosen at the first `count` positions.
  [[nodiscard]] std::vector<std::uint32_t> chosen(std::uint32_t count) const;
  [[nodiscard]] const muster::Client& client() const noexcept { return parts_.front().client; }

 private:
  void multiply(const muster::Handle& in, const muster::Handle& weights, const muster::Handle& out, std::uint32_t inputs,
                std::uint32_t outputs) const;
  void normalise(const muster::Handle& in, const muster::Handle& scale, const muster::Handle& shift,
                 const muster::Handle& out) const;
  void add(const muster::Handle& to, const muster::Handle& what) const;
  /// sum = what the parts give, summed in their order; x += sum
  void add_summed(const std::function<void(const Part&, std::size_t layer, const muster::Handle& out)>& partial,
                  std::size_t layer) const;

  std::vector<Part> parts_;
  Sum sum_outside_;
  muster::Handle state_, chosen_, x_, normal_, qkv_, mixed_, inner_, activated_, partial_, sum_, logits_;
};

}  // namespace decode_loop
