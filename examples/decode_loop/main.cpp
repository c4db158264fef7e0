// Decodes with a small transformer whose heads and inner layers are spread over the ranks (tensor parallel): eagerly, and
// by replaying one recorded graph per step, the all-reduces inside. The tokens are the same, and those of one rank.

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <muster/world.hpp>

#include "decoder.hpp"

namespace {

using namespace decode_loop;
using namespace muster;
using Clock = std::chrono::steady_clock;

struct Decoded {
  std::vector<std::uint32_t> tokens;
  double microseconds_per_token = 0;
};

template <class Step>
Decoded decode(const Decoder& decoder, std::uint32_t count, Step&& step) {
  decoder.begin(7);
  decoder.client().sync();
  const auto start = Clock::now();
  for (std::uint32_t i = 0; i < count; ++i) step();
  auto tokens = decoder.chosen(count);
  const std::chrono::duration<double, std::micro> took = Clock::now() - start;
  return {std::move(tokens), took.count() / count};
}

int run() {
  World world = World::form();
  const Client client = world.clients().front();
  const ClientGroup group = world.group();
  const Shape shape;
  const auto parts = static_cast<std::uint32_t>(group.size());
  if (shape.heads % parts != 0) {
    throw UsageError(fmt::format("{} heads cannot be spread over {} members; use 1, 2 or 4 ranks", shape.heads, parts));
  }
  const std::uint32_t count = shape.longest;

  const Decoder spread({Part(client, shape, static_cast<std::uint32_t>(group.index_of(client)), parts)},
                       [&](const Handle& sum) { group.all_reduce(client, sum, sum, Dtype::f32, ReduceOp::sum); });
  const Decoded eager = decode(spread, count, [&] { spread.step(); });

  client.graph_prepare();
  spread.begin(0);
  spread.step();  // the warm-up run
  client.start_capture();
  spread.step();
  const Graph graph = client.stop_capture();
  const Decoded replayed = decode(spread, count, [&] { graph.replay(); });

  // All parts on this rank, one after the other: the sums run in the same order.
  std::vector<Part> all;
  for (std::uint32_t i = 0; i < parts; ++i) all.emplace_back(client, shape, i, parts);
  const Decoder alone(std::move(all), [](const Handle&) {});
  const Decoded one_rank = decode(alone, count, [&] { alone.step(); });
  world.shutdown();

  const bool same = eager.tokens == replayed.tokens && eager.tokens == one_rank.tokens;
  if (world.rank().value == 0) {
    std::string text;
    for (const std::uint32_t token : eager.tokens) text += static_cast<char>(' ' + token % 95);
    fmt::print("decoded {} tokens: {}\n", count, text);
    fmt::print(
        "eager {:.0f} us per token; one graph of {} operations, replayed: {:.0f} us per token, {:.1f} times faster\n",
        eager.microseconds_per_token, graph.size(), replayed.microseconds_per_token,
        eager.microseconds_per_token / replayed.microseconds_per_token);
  }
  if (!same) {
    fmt::print("rank {}: THE TOKENS DIFFER\n", world.rank().value);
    return 1;
  }
  if (world.rank().value == 0) fmt::print("the tokens of 1 rank and of {}, eager and replayed, are the same\n", parts);
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "decode_loop: {}\n", error.what());
    return 1;
  }
}
