// Every operation, dtype, size and way of placing the buffers, against a serial computation. Each rank checks a part of
// every result against the reference, and all ranks compare a checksum of the whole, so all of it is checked.

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <muster/client_group.hpp>

#include <cstring>

#include "support/instrumented.hpp"
#include "support/reference.hpp"
#include "support/world_environment.hpp"

namespace muster::test {
namespace {

enum class Placement { apart, in_place };

/// Instrumented code is ten times slower: there the largest size still takes the path of large ones, and the dtypes that
/// differ most also that of several segments.
std::vector<std::size_t> counts_for(Dtype dtype, ReduceOp op) {
  constexpr std::size_t large = std::size_t{1} << 20U;
  const bool full = !instrumented || (op == ReduceOp::sum && (dtype == Dtype::f32 || dtype == Dtype::bf16));
  return {0, 1, 3, 257, (full ? large : large / 12) / size_of(dtype) + 1};
}

/// One device's view of a group in these tests.
struct Member {
  Client client;
  int index;
};

class Collectives : public testing::Test {
 protected:
  ClientGroup group_ = world().group();
  std::vector<Member> members_ = [this] {
    std::vector<Member> found;
    for (const Client& client : group_.local_clients()) found.push_back({client, group_.index_of(client)});
    return found;
  }();
  int n_ = group_.size();

  Handle create(const Member& member, const std::vector<std::byte>& bytes) {
    return member.client.create_from_slice<std::byte>(bytes);
  }

  /// `expected(index)` gives the bits of each element of the result of this member.
  template <class Expected>
  void check(const Member& member, const Handle& result, Dtype dtype, Expected expected, bool same_on_all,
             const std::string& what) {
    const Bytes bytes = member.client.read(result);
    const std::span<const std::byte> span(bytes.data(), bytes.size());
    const std::size_t count = bytes.size() / size_of(dtype);
    std::size_t first = 0, last = count;
    if (same_on_all && count > 4096) {
      first = count * static_cast<std::size_t>(member.index) / static_cast<std::size_t>(n_);
      last = count * static_cast<std::size_t>(member.index + 1) / static_cast<std::size_t>(n_);
      compare_checksums(member, bytes, what);
    }
    for (std::size_t i = first; i < last; ++i) {
      const std::uint64_t wanted = expected(i), got = bits_at(dtype, span, i);
      if (wanted != got) {
        ADD_FAILURE() << what << ": element " << i << " of " << count << " is " << std::hex << got << ", not " << wanted;
        return;
      }
    }
  }

 private:
  void compare_checksums(const Member& member, const Bytes& bytes, const std::string& what) {
    std::uint64_t sum = bytes.size();
    const auto words = bytes.as<std::uint8_t>();
    for (const auto word : words) sum = (sum ^ word) * 0x100000001b3U;
    sums_.emplace_back(member.client.create_from_slice<std::uint64_t>(std::span<const std::uint64_t>(&sum, 1)),
                       member.client.empty(sizeof sum * n_));
    if (sums_.size() < members_.size()) return;
    for (std::size_t i = 0; i < members_.size(); ++i)
      group_.all_gather(members_[i].client, sums_[i].first, sums_[i].second);
    const Bytes all = members_.back().client.read(sums_.back().second);
    for (const auto other : all.as<std::uint64_t>()) EXPECT_EQ(other, sum) << what << ": ranks have different bits";
    sums_.clear();
  }
  std::vector<std::pair<Handle, Handle>> sums_;
};

template <class Case>
void for_each_reduction(Case run) {
  for (const Dtype dtype : all_dtypes) {
    for (const ReduceOp op : all_reduce_ops) {
      if (!supports(dtype, op)) continue;
      for (const std::size_t count : counts_for(dtype, op)) {
        for (const Placement placement : {Placement::apart, Placement::in_place}) {
          run(dtype, op, count, placement,
              fmt::format("{} {} {}{}", name(op), name(dtype), count, placement == Placement::in_place ? " in place" : ""));
        }
      }
    }
  }
}

TEST_F(Collectives, AllReduceEqualsTheSerialComputation) {
  for_each_reduction([&](Dtype dtype, ReduceOp op, std::size_t count, Placement placement, const std::string& what) {
    std::vector<Handle> results;
    for (const Member& member : members_) {
      const Handle source = create(member, input_bytes(dtype, member.index, 0, count));
      results.push_back(placement == Placement::in_place ? source : member.client.empty(source.size()));
      group_.all_reduce(member.client, source, results.back(), dtype, op);
    }
    const Reference reference(dtype, op);
    std::vector<std::uint64_t> elements(n_);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      check(
          members_[i], results[i], dtype,
          [&](std::size_t at) {
            for (int rank = 0; rank < n_; ++rank) elements[rank] = input_bits(dtype, rank, at);
            return reference.reduce(elements);
          },
          true, "all_reduce " + what);
    }
  });
}

TEST_F(Collectives, ReduceGivesTheRootTheSerialComputation) {
  int root = 0;
  for_each_reduction([&](Dtype dtype, ReduceOp op, std::size_t count, Placement placement, const std::string& what) {
    root = (root + 1) % n_;
    std::vector<Handle> results;
    for (const Member& member : members_) {
      const Handle source = create(member, input_bytes(dtype, member.index, 0, count));
      results.push_back(placement == Placement::in_place ? source : member.client.empty(source.size()));
      group_.reduce(member.client, source, member.index == root ? results.back() : Handle(), dtype, op, root);
    }
    const Reference reference(dtype, op);
    std::vector<std::uint64_t> elements(n_);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].index != root) {
        members_[i].client.sync();
        continue;
      }
      check(
          members_[i], results[i], dtype,
          [&](std::size_t at) {
            for (int rank = 0; rank < n_; ++rank) elements[rank] = input_bits(dtype, rank, at);
            return reference.reduce(elements);
          },
          false, "reduce " + what);
    }
  });
}

TEST_F(Collectives, ReduceScatterGivesEachMemberItsBlock) {
  for_each_reduction([&](Dtype dtype, ReduceOp op, std::size_t count, Placement placement, const std::string& what) {
    std::vector<Handle> results;
    for (const Member& member : members_) {
      const Handle source = create(member, input_bytes(dtype, member.index, 0, count * n_));
      const std::size_t block = count * size_of(dtype);
      results.push_back(placement == Placement::in_place ? source.slice(block * member.index, block)
                                                         : member.client.empty(block));
      group_.reduce_scatter(member.client, source, results.back(), dtype, op);
    }
    const Reference reference(dtype, op);
    std::vector<std::uint64_t> elements(n_);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      // A part of a large block is enough here: every member has another one.
      const std::size_t stride = count > 4096 ? 61 : 1;
      const Bytes bytes = members_[i].client.read(results[i]);
      const std::span<const std::byte> span(bytes.data(), bytes.size());
      for (std::size_t at = 0; at < count; at += stride) {
        for (int rank = 0; rank < n_; ++rank) elements[rank] = input_bits(dtype, rank, count * members_[i].index + at);
        ASSERT_EQ(bits_at(dtype, span, at), reference.reduce(elements)) << "reduce_scatter " << what << " at " << at;
      }
    }
  });
}

/// Operations that move bytes do not look at the dtype, so sizes in bytes are what varies.
const std::vector<std::size_t> byte_counts{0, 1, 3, 4097, (std::size_t{1} << 20U) + 1};

template <class Case>
void for_each_move(Case run) {
  for (const std::size_t count : byte_counts) {
    for (const Placement placement : {Placement::apart, Placement::in_place}) {
      run(count, placement, fmt::format("{} bytes{}", count, placement == Placement::in_place ? " in place" : ""));
    }
  }
}

TEST_F(Collectives, AllGatherCollectsEveryBlock) {
  for_each_move([&](std::size_t block, Placement placement, const std::string& what) {
    std::vector<Handle> results;
    for (const Member& member : members_) {
      results.push_back(member.client.empty(block * n_));
      Handle source = results.back().slice(block * member.index, block);
      const auto input = input_bytes(Dtype::u8, member.index, 0, block);
      if (placement == Placement::apart) {
        source = create(member, input);
      } else {
        member.client.write(source, Bytes::copy_of(std::span<const std::byte>(input)));
      }
      group_.all_gather(member.client, source, results.back());
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
      check(
          members_[i], results[i], Dtype::u8,
          [&](std::size_t at) { return input_bits(Dtype::u8, static_cast<int>(at / block), at % block); }, true,
          "all_gather " + what);
    }
  });
}

TEST_F(Collectives, GatherCollectsEveryBlockAtTheRoot) {
  int root = 0;
  for_each_move([&](std::size_t block, Placement placement, const std::string& what) {
    root = (root + 1) % n_;
    std::vector<Handle> results;
    for (const Member& member : members_) {
      results.push_back(member.client.empty(block * n_));
      Handle source = results.back().slice(block * member.index, block);
      const auto input = input_bytes(Dtype::u8, member.index, 0, block);
      if (placement == Placement::apart) {
        source = create(member, input);
      } else {
        member.client.write(source, Bytes::copy_of(std::span<const std::byte>(input)));
      }
      group_.gather(member.client, source, member.index == root ? results.back() : Handle(), root);
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
      members_[i].client.sync();
      if (members_[i].index != root) continue;
      check(
          members_[i], results[i], Dtype::u8,
          [&](std::size_t at) { return input_bits(Dtype::u8, static_cast<int>(at / block), at % block); }, false,
          "gather " + what);
    }
  });
}

TEST_F(Collectives, BroadcastGivesEveryMemberTheRootsBytes) {
  int root = 0;
  for_each_move([&](std::size_t block, Placement placement, const std::string& what) {
    root = (root + 1) % n_;
    std::vector<Handle> results;
    for (const Member& member : members_) {
      Handle source;
      if (member.index == root) source = create(member, input_bytes(Dtype::u8, root, 0, block));
      const bool same = member.index == root && placement == Placement::in_place;
      results.push_back(same ? source : member.client.empty(block));
      group_.broadcast(member.client, source, results.back(), root);
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
      check(
          members_[i], results[i], Dtype::u8, [&](std::size_t at) { return input_bits(Dtype::u8, root, at); }, true,
          "broadcast " + what);
    }
  });
}

TEST_F(Collectives, ScatterGivesEachMemberItsBlock) {
  int root = 0;
  for_each_move([&](std::size_t block, Placement placement, const std::string& what) {
    root = (root + 1) % n_;
    std::vector<Handle> results;
    for (const Member& member : members_) {
      Handle source;
      if (member.index == root) source = create(member, input_bytes(Dtype::u8, root, 0, block * n_));
      const bool same = member.index == root && placement == Placement::in_place;
      results.push_back(same ? source.slice(block * root, block) : member.client.empty(block));
      group_.scatter(member.client, source, results.back(), root);
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
      check(
          members_[i], results[i], Dtype::u8,
          [&](std::size_t at) { return input_bits(Dtype::u8, root, block * members_[i].index + at); }, false,
          "scatter " + what);
    }
  });
}

TEST_F(Collectives, AllToAllTransposesTheBlocks) {
  for_each_move([&](std::size_t block, Placement placement, const std::string& what) {
    std::vector<Handle> results;
    for (const Member& member : members_) {
      const Handle source = create(member, input_bytes(Dtype::u8, member.index, 0, block * n_));
      results.push_back(placement == Placement::in_place ? source : member.client.empty(source.size()));
      group_.all_to_all(member.client, source, results.back());
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
      check(
          members_[i], results[i], Dtype::u8,
          [&](std::size_t at) {
            return input_bits(Dtype::u8, static_cast<int>(at / block), block * members_[i].index + at % block);
          },
          false, "all_to_all " + what);
    }
  });
}

TEST_F(Collectives, NanOfAnyRankReachesMinAndMax) {
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    for (int bearer = 0; bearer < n_; ++bearer) {
      std::vector<Handle> values;
      for (const Member& member : members_) {
        const float own =
            member.index == bearer ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(member.index);
        values.push_back(member.client.create_from_slice<float>(std::span<const float>(&own, 1)));
        group_.all_reduce(member.client, values.back(), values.back(), Dtype::f32, op);
      }
      for (std::size_t i = 0; i < members_.size(); ++i) {
        EXPECT_TRUE(std::isnan(members_[i].client.read(values[i]).as<float>()[0])) << name(op) << " of rank " << bearer;
      }
    }
  }
}

}  // namespace
}  // namespace muster::test
