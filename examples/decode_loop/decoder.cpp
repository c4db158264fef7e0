#include "decoder.hpp"

#include <cmath>

#include "decode.kernel.hpp"

namespace decode_loop {

using namespace muster;

namespace {

/// A value in [-1, 1) that depends on the numbers alone (the finaliser of SplitMix64; Steele, Lea and Flood, 2014).
float noise(std::uint64_t tensor, std::uint64_t index) {
  std::uint64_t z = tensor * 0x9E3779B97F4A7C15ULL + index + 1;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  z ^= z >> 31U;
  return static_cast<float>(z >> 40U) / static_cast<float>(1U << 23U) - 1.0F;
}

/// Columns [first, first + count) of rows [row, row + rows) of a matrix of noise with `columns` columns.
struct Window {
  std::uint64_t tensor;
  std::uint32_t row, rows, columns, first, count;
  float scale;
};
std::vector<float> values_of(const Window& window) {
  std::vector<float> values;
  for (std::uint32_t r = window.row; r < window.row + window.rows; ++r) {
    for (std::uint32_t c = window.first; c < window.first + window.count; ++c) {
      values.push_back(window.scale * noise(window.tensor, std::uint64_t{r} * window.columns + c));
    }
  }
  return values;
}

Handle constant(const Client& client, std::uint32_t count, float value) {
  return client.create_from_slice<float>(std::vector<float>(count, value));
}
Argument number(std::uint32_t value) { return Argument::scalar(static_cast<std::int64_t>(value)); }

constexpr std::uint32_t block = 64;
std::uint32_t blocks_of(std::uint32_t n) { return (n + block - 1) / block; }

}  // namespace

Part::Part(const Client& device, const Shape& model, std::uint32_t index, std::uint32_t parts)
    : client(device), shape(model), heads(model.heads / parts), inner(model.inner / parts) {
  client.memory_persistent_allocation([&] {
    const auto make = [&](const Window& window) { return client.create_from_slice<float>(values_of(window)); };
    const std::uint32_t width = shape.width, own = heads * shape.head_size();
    const float small = 1.0F / std::sqrt(static_cast<float>(width));
    for (std::uint32_t l = 0; l < shape.layers; ++l) {
      const std::uint64_t tensor = 100 * (l + 1);
      // Queries, keys and values of this part's heads, side by side.
      std::vector<float> qkv;
      for (std::uint32_t row = 0; row < width; ++row) {
        for (std::uint64_t which = 0; which < 3; ++which) {
          const auto columns = values_of({tensor + which, row, 1, width, index * own, own, 4 * small});
          qkv.insert(qkv.end(), columns.begin(), columns.end());
        }
      }
      layers.push_back({client.create_from_slice<float>(qkv),
                        make({tensor + 3, index * own, own, width, 0, width, 2 * small}),
                        make({tensor + 4, 0, width, shape.inner, index * inner, inner, 2 * small}),
                        make({tensor + 5, index * inner, inner, width, 0, width, 2 * small}), constant(client, width, 1),
                        constant(client, width, 0), constant(client, width, 1), constant(client, width, 0),
                        constant(client, heads * shape.longest * shape.head_size(), 0),
                        constant(client, heads * shape.longest * shape.head_size(), 0)});
    }
    tokens = make({1, 0, shape.vocabulary, width, 0, width, 1});
    positions = make({2, 0, shape.longest, width, 0, width, 0.5F});
    out_scale = constant(client, width, 1);
    out_shift = constant(client, width, 0);
    out_weights = make({3, 0, width, shape.vocabulary, 0, shape.vocabulary, 1});
  });
}

Decoder::Decoder(std::vector<Part> parts, Sum sum_outside)
    : parts_(std::move(parts)), sum_outside_(std::move(sum_outside)) {
  const Shape& shape = parts_.front().shape;
  const auto vector = [&](std::uint32_t count) { return client().empty(count * sizeof(float)); };
  state_ = client().empty(2 * sizeof(std::uint32_t));
  chosen_ = client().empty(shape.longest * sizeof(std::uint32_t));
  for (Handle* handle : {&x_, &normal_, &partial_, &sum_}) *handle = vector(shape.width);
  qkv_ = vector(3 * shape.width);
  mixed_ = vector(shape.width);
  for (Handle* handle : {&inner_, &activated_}) *handle = vector(shape.inner);
  logits_ = vector(shape.vocabulary);
}

void Decoder::begin(std::uint32_t token) const {
  client().write(state_, Bytes::copy_of<std::uint32_t>(std::vector<std::uint32_t>{token, 0}));
}

std::vector<std::uint32_t> Decoder::chosen(std::uint32_t count) const {
  const Bytes bytes = client().read(chosen_.slice(0, count * sizeof(std::uint32_t)));
  const auto span = bytes.as<std::uint32_t>();
  return {span.begin(), span.end()};
}

void Decoder::multiply(const Handle& in, const Handle& weights, const Handle& out, std::uint32_t inputs,
                       std::uint32_t outputs) const {
  static const Kernel kernel(multiply_vector, {block, 1, 1});
  client().launch(kernel, blocks_of(outputs),
                  {Argument::in(in), Argument::in(weights), Argument::out(out), number(inputs), number(outputs)});
}

void Decoder::normalise(const Handle& in, const Handle& scale, const Handle& shift, const Handle& out) const {
  client().launch(kernels::layer_norm_rows(), 1,
                  {Argument::in(in), Argument::in(scale), Argument::in(shift), Argument::out(out), Argument::scalar(1e-5),
                   number(parts_.front().shape.width)});
}

void Decoder::add(const Handle& to, const Handle& what) const {
  const std::uint32_t width = parts_.front().shape.width;
  client().launch(kernels::add(), kernels::blocks_for(kernels::add(), width),
                  {Argument::in(to), Argument::in(what), Argument::out(to), number(width)});
}

void Decoder::add_summed(const std::function<void(const Part&, std::size_t, const Handle&)>& partial,
                         std::size_t layer) const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    partial(parts_[i], layer, i == 0 ? sum_ : partial_);
    if (i != 0) add(sum_, partial_);
  }
  sum_outside_(sum_);
  add(x_, sum_);
}

void Decoder::step() const {
  static const Kernel embedding(embed, {block, 1, 1}), choosing(choose_token, {1, 1, 1});
  const Part& any = parts_.front();
  const Shape& shape = any.shape;
  const Kernel attention(attend, {shape.head_size(), 1, 1});
  client().launch(embedding, blocks_of(shape.width),
                  {Argument::in(any.tokens), Argument::in(any.positions), Argument::in(state_), Argument::out(x_),
                   number(shape.width)});
  for (std::size_t l = 0; l < any.layers.size(); ++l) {
    normalise(x_, any.layers[l].scale_1, any.layers[l].shift_1, normal_);
    add_summed(
        [&](const Part& part, std::size_t at, const Handle& out) {
          const Part::Layer& layer = part.layers[at];
          const std::uint32_t own = part.heads * shape.head_size();
          multiply(normal_, layer.qkv, qkv_, shape.width, 3 * own);
          client().launch(attention, part.heads,
                          {Argument::in(qkv_), Argument::in_out(layer.keys), Argument::in_out(layer.values),
                           Argument::in(state_), Argument::out(mixed_), number(part.heads), number(shape.longest)});
          multiply(mixed_, layer.attention_out, out, own, shape.width);
        },
        l);
    normalise(x_, any.layers[l].scale_2, any.layers[l].shift_2, normal_);
    add_summed(
        [&](const Part& part, std::size_t at, const Handle& out) {
          const Part::Layer& layer = part.layers[at];
          multiply(normal_, layer.inner_in, inner_, shape.width, part.inner);
          client().launch(kernels::gelu(), kernels::blocks_for(kernels::gelu(), part.inner),
                          {Argument::in(inner_), Argument::out(activated_), number(part.inner)});
          multiply(activated_, layer.inner_out, out, part.inner, shape.width);
        },
        l);
  }
  normalise(x_, any.out_scale, any.out_shift, normal_);
  multiply(normal_, any.out_weights, logits_, shape.width, shape.vocabulary);
  client().launch(choosing, 1,
                  {Argument::in(logits_), Argument::in_out(state_), Argument::in_out(chosen_), number(shape.vocabulary)});
}

}  // namespace decode_loop
