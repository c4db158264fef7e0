#include "muster/kernel_language.hpp"

// One step of decoding, for one token. State of the loop stays on the device: state[0] is the token that comes in,
// state[1] its position. Vectors have `width` elements.

/// x = embedding of the token + embedding of its position
MUSTER_KERNEL(embed, const float* tokens, const float* positions, const muster::kernel::u32* state, float* x,
              muster::kernel::u32 width) {
  const auto i = muster::kernel::thread_index().x + muster::kernel::block_index().x * muster::kernel::block_size().x;
  if (i < width) x[i] = tokens[state[0] * width + i] + positions[state[1] * width + i];
}

/// out[j] = sum over i of in[i] * weights[i][j]; weights: inputs x outputs
MUSTER_KERNEL(multiply_vector, const float* in, const float* weights, float* out, muster::kernel::u32 inputs,
              muster::kernel::u32 outputs) {
  const auto j = muster::kernel::thread_index().x + muster::kernel::block_index().x * muster::kernel::block_size().x;
  if (j >= outputs) return;
  float sum = 0;
  for (muster::kernel::u32 i = 0; i < inputs; ++i) sum += in[i] * weights[i * outputs + j];
  out[j] = sum;
}

/// Attention of one head per block over the positions so far. qkv: three vectors of `heads * size`; the cache holds keys
/// and values of `longest` positions for each. The threads of a block are the elements of a head.
MUSTER_KERNEL(attend, const float* qkv, float* keys, float* values, const muster::kernel::u32* state, float* out,
              muster::kernel::u32 heads, muster::kernel::u32 longest) {
  MUSTER_SHARED(float, scores, 256);
  const auto head = muster::kernel::block_index().x, i = muster::kernel::thread_index().x;
  const auto size = muster::kernel::block_size().x, width = heads * size, at = head * size + i;
  const auto position = state[1];
  keys[(head * longest + position) * size + i] = qkv[width + at];
  values[(head * longest + position) * size + i] = qkv[2 * width + at];
  muster::kernel::sync_block();
  for (muster::kernel::u32 p = i; p <= position; p += size) {
    float score = 0;
    for (muster::kernel::u32 k = 0; k < size; ++k) score += qkv[head * size + k] * keys[(head * longest + p) * size + k];
    scores[p] = score / muster::kernel::sqrt(static_cast<float>(size));
  }
  muster::kernel::sync_block();
  float largest = scores[0];
  for (muster::kernel::u32 p = 1; p <= position; ++p) largest = muster::kernel::max(largest, scores[p]);
  float sum = 0, mixed = 0;
  for (muster::kernel::u32 p = 0; p <= position; ++p) {
    const float weight = muster::kernel::exp(scores[p] - largest);
    sum += weight;
    mixed += weight * values[(head * longest + p) * size + i];
  }
  out[at] = mixed / sum;
}

/// Takes the likeliest token, writes it down, and moves on. One thread.
MUSTER_KERNEL(choose_token, const float* logits, muster::kernel::u32* state, muster::kernel::u32* chosen,
              muster::kernel::u32 vocabulary) {
  muster::kernel::u32 best = 0;
  for (muster::kernel::u32 token = 1; token < vocabulary; ++token) {
    if (logits[token] > logits[best]) best = token;
  }
  chosen[state[1]] = best;
  state[0] = best;
  state[1] += 1;
}
