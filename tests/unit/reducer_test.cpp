// Conversions of the small floats over all their bits, and the instruction sets against each other.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "reduce/reducer_table.hpp"
#include "support/reference.hpp"

namespace muster::detail {
namespace {

const std::vector<Dtype> small_floats{Dtype::f16, Dtype::bf16, Dtype::f8_e4m3, Dtype::f8_e5m2};

TEST(SmallFloats, EveryValueLoadsAndStoresAsItsDefinitionSays) {
  for (const Dtype dtype : small_floats) {
    const Reducer& reducer = reducer_for(dtype, ReduceOp::sum);
    const std::uint64_t values = std::uint64_t{1} << (8 * size_of(dtype));
    for (std::uint64_t bits = 0; bits < values; ++bits) {
      float loaded = 0;
      reducer.load(&loaded, &bits, 1);
      const double expected = test::decode_float(dtype, bits);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(loaded)) << name(dtype) << " " << bits;
        continue;
      }
      ASSERT_EQ(static_cast<double>(loaded), expected) << name(dtype) << " " << bits;
      std::uint64_t stored = 0;
      reducer.finish(&stored, &loaded, 1, 1);
      const std::uint64_t wanted = test::encode_float(dtype, expected);
      ASSERT_EQ(stored, wanted) << name(dtype) << " " << bits;
    }
  }
}

TEST(SmallFloats, RoundToNearestEvenBetweenAllNeighbours) {
  for (const Dtype dtype : small_floats) {
    const Reducer& reducer = reducer_for(dtype, ReduceOp::sum);
    const std::uint64_t positive = std::uint64_t{1} << (8 * size_of(dtype) - 1);
    for (std::uint64_t bits = 0; bits + 1 < positive; ++bits) {
      const double low = test::decode_float(dtype, bits), high = test::decode_float(dtype, bits + 1);
      if (std::isnan(high) || std::isinf(high)) break;
      for (const double share : {0.25, 0.5, 0.75}) {
        const auto between = static_cast<float>(low + (high - low) * share);
        for (const float value : {between, std::nextafterf(between, 0.0F), std::nextafterf(between, 1e30F), -between}) {
          std::uint64_t stored = 0;
          reducer.finish(&stored, &value, 1, 1);
          ASSERT_EQ(stored, test::encode_float(dtype, value)) << name(dtype) << " " << value;
        }
      }
    }
    for (const float value : {1e30F, -1e30F, 65519.0F, 65520.0F, 464.0F, 465.0F, 448.0F, INFINITY, -INFINITY}) {
      std::uint64_t stored = 0;
      reducer.finish(&stored, &value, 1, 1);
      EXPECT_EQ(stored, test::encode_float(dtype, value)) << name(dtype) << " " << value;
    }
  }
}

TEST(Reducers, AllInstructionSetsGiveTheSameBits) {
#if defined(__x86_64__)
  std::vector<const ReducerTable*> tables{&reducers_baseline()};
  if (__builtin_cpu_supports("avx2")) tables.push_back(&reducers_avx2());
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) tables.push_back(&reducers_avx512());
  constexpr std::size_t count = 5003;
  for (const Dtype dtype : all_dtypes) {
    std::vector<std::vector<std::byte>> inputs;
    std::vector<const void*> sources;
    for (int rank = 0; rank < 3; ++rank) {
      inputs.push_back(test::input_bytes(dtype, rank, 0, count));
      sources.push_back(inputs.back().data());
    }
    for (const ReduceOp op : all_reduce_ops) {
      if (!supports(dtype, op)) continue;
      std::vector<std::byte> first(count * size_of(dtype));
      for (const ReducerTable* table : tables) {
        std::vector<std::byte> result(first.size());
        (*table)[static_cast<std::size_t>(dtype)][static_cast<std::size_t>(op)].reduce(result.data(), sources.data(), 3,
                                                                                       count);
        if (table == tables.front()) first = result;
        EXPECT_EQ(std::memcmp(first.data(), result.data(), first.size()), 0) << name(dtype) << " " << name(op);
      }
    }
  }
#else
  GTEST_SKIP() << "only x86-64 has several instruction sets here";
#endif
}

// Slices may begin at any byte, and so do blocks in the slots of small operations.
TEST(Reducers, AssumeNothingOfTheAlignmentOfElements) {
  constexpr std::size_t count = 77;
  for (const Dtype dtype : all_dtypes) {
    const std::size_t size = count * size_of(dtype);
    std::vector<std::vector<std::byte>> inputs, shifted;
    std::vector<const void*> sources, shifted_sources;
    for (int rank = 0; rank < 3; ++rank) {
      inputs.push_back(test::input_bytes(dtype, rank, 0, count));
      shifted.emplace_back(size + 1);
      std::memcpy(shifted.back().data() + 1, inputs.back().data(), size);
    }
    for (int rank = 0; rank < 3; ++rank) {
      sources.push_back(inputs[rank].data());
      shifted_sources.push_back(shifted[rank].data() + 1);
    }
    for (const ReduceOp op : all_reduce_ops) {
      if (!supports(dtype, op)) continue;
      for (const std::size_t ranks : {2U, 3U}) {
        std::vector<std::byte> expected(size), result(size + 1);
        reducer_for(dtype, op).reduce(expected.data(), sources.data(), ranks, count);
        reducer_for(dtype, op).reduce(result.data() + 1, shifted_sources.data(), ranks, count);
        EXPECT_EQ(std::memcmp(expected.data(), result.data() + 1, size), 0) << name(dtype) << " " << name(op);
      }
    }
  }
}

TEST(Reducers, NamesAndSupportAgree) {
  for (const ReduceOp op : all_reduce_ops) EXPECT_EQ(reduce_op_of(name(op)), op);
  for (const Dtype dtype : all_dtypes) EXPECT_EQ(dtype_of(name(dtype)), dtype);
  EXPECT_FALSE(supports(Dtype::f32, ReduceOp::bit_xor));
  EXPECT_FALSE(supports(Dtype::boolean, ReduceOp::average));
  EXPECT_TRUE(supports(Dtype::i8, ReduceOp::bit_and));
  EXPECT_EQ(dtype_of("float"), std::nullopt);
}

}  // namespace
}  // namespace muster::detail
