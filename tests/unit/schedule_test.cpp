// Schedules are pure plans: each is played through for every number of nodes up to 64.

#include <gtest/gtest.h>

#include <set>

#include "schedule/binomial_tree.hpp"
#include "schedule/dissemination.hpp"
#include "schedule/rank_runs.hpp"
#include "schedule/ring.hpp"
#include "schedule/shard.hpp"

namespace muster::detail {
namespace {

constexpr int most_nodes = 64;

TEST(Dissemination, EveryNodeEndsWithEveryBlockInCyclicOrder) {
  for (int nodes = 1; nodes <= most_nodes; ++nodes) {
    std::vector<std::vector<DisseminationStep>> steps;
    std::vector<std::vector<int>> held(nodes);
    for (int node = 0; node < nodes; ++node) {
      steps.push_back(dissemination_schedule(nodes, node));
      held[node] = {node};
    }
    for (std::size_t round = 0; round < steps[0].size(); ++round) {
      auto next = held;
      for (int node = 0; node < nodes; ++node) {
        const auto& step = steps[node][round];
        const int from = step.recv_from;
        ASSERT_EQ(steps[from][round].send_to, node) << nodes << " nodes";
        ASSERT_EQ(steps[from][round].blocks, step.blocks);
        ASSERT_LE(step.blocks, static_cast<int>(held[from].size()));
        next[node].insert(next[node].end(), held[from].begin(), held[from].begin() + step.blocks);
      }
      held = next;
    }
    for (int node = 0; node < nodes; ++node) {
      ASSERT_EQ(static_cast<int>(held[node].size()), nodes);
      for (int i = 0; i < nodes; ++i) EXPECT_EQ(held[node][i], (node + i) % nodes) << nodes << " nodes, node " << node;
    }
  }
}

TEST(Ring, EveryNodeReceivesEveryOtherBlockOnceAndForwardsOnlyWhatItHas) {
  for (int nodes = 1; nodes <= most_nodes; ++nodes) {
    for (int node = 0; node < nodes; ++node) {
      std::set<int> held{node};
      const auto steps = ring_schedule(nodes, node);
      const auto before = ring_schedule(nodes, (node - 1 + nodes) % nodes);
      ASSERT_EQ(static_cast<int>(steps.size()), nodes - 1);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_TRUE(held.count(steps[i].send_block)) << nodes << " nodes, step " << i;
        EXPECT_EQ(before[i].send_block, steps[i].recv_block);
        EXPECT_TRUE(held.insert(steps[i].recv_block).second);
      }
      EXPECT_EQ(static_cast<int>(held.size()), nodes);
    }
  }
}

TEST(BinomialTree, ReachesEveryNodeFromEveryRootThroughMatchingParents) {
  for (int nodes = 1; nodes <= most_nodes; ++nodes) {
    for (int root = 0; root < nodes; ++root) {
      std::vector<int> reached{root};
      for (std::size_t i = 0; i < reached.size(); ++i) {
        for (const int child : binomial_tree(nodes, reached[i], root).children) {
          EXPECT_EQ(binomial_tree(nodes, child, root).parent, reached[i]);
          reached.push_back(child);
        }
      }
      EXPECT_EQ(binomial_tree(nodes, root, root).parent, -1);
      EXPECT_EQ(std::set<int>(reached.begin(), reached.end()).size(), static_cast<std::size_t>(nodes));
      EXPECT_EQ(reached.size(), static_cast<std::size_t>(nodes)) << nodes << " nodes, root " << root;
    }
  }
}

TEST(Shards, CoverEverythingOnceInOrder) {
  for (std::size_t parts = 1; parts <= most_nodes; ++parts) {
    for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 1000U, 4096U, 262145U}) {
      for (const std::size_t grain : {1U, 8U, 16U, 64U}) {
        std::size_t next = 0;
        for (std::size_t part = 0; part < parts; ++part) {
          const Shard shard = shard_of(count, parts, part, grain);
          EXPECT_EQ(shard.begin, next);
          EXPECT_TRUE(shard.begin % grain == 0 || shard.begin == count);
          EXPECT_LE(shard.count, count / parts + 2 * grain);
          next += shard.count;
        }
        EXPECT_EQ(next, count);
      }
    }
  }
}

TEST(RankRuns, KeepTheOrderOfTheMembersForAnyPlacement) {
  for (int members = 1; members <= most_nodes; ++members) {
    for (int hosts = 1; hosts <= 5; ++hosts) {
      std::vector<int> cyclic, blocked;
      for (int member = 0; member < members; ++member) {
        cyclic.push_back(member % hosts);
        blocked.push_back(member * hosts / members);
      }
      for (const auto& placement : {cyclic, blocked}) {
        int next = 0;
        const auto runs = rank_runs(placement);
        for (std::size_t i = 0; i < runs.size(); ++i) {
          if (i > 0) {
            EXPECT_NE(runs[i].host, runs[i - 1].host);
          }
          for (const int member : runs[i].members) {
            EXPECT_EQ(member, next++);
            EXPECT_EQ(placement[member], runs[i].host);
          }
        }
        EXPECT_EQ(next, members);
        const auto chain = return_chain(runs);
        EXPECT_EQ(chain.front(), runs.back().host);
        EXPECT_EQ(std::set<int>(chain.begin(), chain.end()), std::set<int>(placement.begin(), placement.end()));
      }
    }
  }
}

TEST(RankRuns, HostRunsVisitEachHostOnce) {
  const std::vector<int> cyclic{0, 1, 2, 0, 1, 2, 0};
  const auto runs = host_runs(cyclic);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].members, (std::vector<int>{0, 3, 6}));
  EXPECT_EQ(runs[2].members, (std::vector<int>{2, 5}));
}

}  // namespace
}  // namespace muster::detail
