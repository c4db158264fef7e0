#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "memory/mapped_page.hpp"
#include "memory/memory_pools.hpp"
#include "muster/error.hpp"
#include "muster/layout.hpp"
#include "support/instrumented.hpp"

namespace muster::detail {
namespace {

TEST(PageSpace, JoinsNeighboursWhateverTheOrderOfRelease) {
  std::mt19937 random(7);
  PageSpace space(1 << 20);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::pair<std::size_t, std::size_t>> taken;
    for (;;) {
      const std::size_t size = PageSpace::rounded(random() % 20000);
      const auto offset = space.take(size);
      if (!offset) break;
      for (const auto& [other, other_size] : taken) {
        EXPECT_TRUE(*offset + size <= other || other + other_size <= *offset) << "ranges overlap";
      }
      taken.emplace_back(*offset, size);
    }
    std::shuffle(taken.begin(), taken.end(), random);
    for (const auto& [offset, size] : taken) space.give_back(offset, size);
    ASSERT_TRUE(space.all_free());
  }
}

MemoryPools::MakePage real_pages() {
  return [](std::size_t size) { return std::make_unique<MappedPage>(size); };
}

/// A page without memory, for tests of what pools decide.
class CountedPage final : public DevicePage {
 public:
  CountedPage(std::size_t size, std::size_t& live) : size_(size), live_(live) { live_ += size_; }
  CountedPage(const CountedPage&) = delete;
  CountedPage& operator=(const CountedPage&) = delete;
  ~CountedPage() override { live_ -= size_; }
  [[nodiscard]] std::byte* data() const noexcept override { return nullptr; }
  [[nodiscard]] std::size_t size() const noexcept override { return size_; }
  [[nodiscard]] std::uint64_t id() const noexcept override { return 0; }

 private:
  std::size_t size_;
  std::size_t& live_;
};

MemoryRequest pooled(std::size_t size) { return {size, AllocationMode::pooled, {}}; }
constexpr std::size_t mebi = std::size_t{1} << 20U;

TEST(MemoryPools, ReuseWhatWasGivenBack) {
  MemoryPools pools(real_pages(), 0);
  for (const std::size_t size : {std::size_t{100}, std::size_t{100'000}, 20 * mebi}) {
    std::size_t reserved = 0;
    for (int i = 0; i < 1000; ++i) {
      const Grant grant = pools.take(pooled(size));
      std::memset(grant.range.data(), i, std::min<std::size_t>(size, 4096));
      pools.give_back(grant);
      if (i == 0) reserved = pools.reserved_bytes();
      ASSERT_EQ(pools.reserved_bytes(), reserved) << size;
    }
  }
  EXPECT_EQ(pools.in_use_bytes(), 0U);
  pools.trim();
  EXPECT_EQ(pools.reserved_bytes(), 0U);
}

TEST(MemoryPools, RefuseBeyondTheLimitAndSayHowMuchIsInUse) {
  MemoryPools pools(real_pages(), 8 * mebi);
  const Grant grant = pools.take(pooled(6 * mebi));
  try {
    pools.take(pooled(4 * mebi));
    FAIL() << "the limit was passed";
  } catch (const OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find("in use"), std::string::npos);
  }
  pools.give_back(grant);
  EXPECT_NO_THROW(pools.give_back(pools.take(pooled(4 * mebi))));
}

TEST(MemoryPools, ReturnFreePagesOfOnePoolBeforeAnotherIsRefused) {
  MemoryPools pools(real_pages(), 40 * mebi);
  pools.give_back(pools.take(pooled(30 * mebi)));
  EXPECT_NO_THROW(pools.give_back(pools.take(pooled(12 * mebi))));
}

TEST(MemoryPools, AnImpossibleSizeIsAnErrorNotACrash) {
  MemoryPools pools(real_pages(), 0);
  EXPECT_THROW(pools.take(pooled(~std::size_t{0})), OutOfMemory);
  EXPECT_THROW(pools.take(pooled(std::size_t{1} << 60U)), OutOfMemory);
}

TEST(MemoryPools, PersistentMemoryIsExactAndNotSwept) {
  MemoryPools pools(real_pages(), 0);
  const MemoryRequest request{100'000, AllocationMode::persistent, {}};
  const Grant grant = pools.take(request);
  const std::uint64_t page = grant.range.page->id();
  EXPECT_EQ(grant.range.size, PageSpace::rounded(100'000));
  pools.give_back(grant);
  EXPECT_EQ(pools.reserved_bytes(), PageSpace::rounded(100'000));
  const Grant again = pools.take(request);
  EXPECT_EQ(again.range.page->id(), page);
  pools.give_back(again);
}

TEST(MemoryPools, DedicatedMemoryGoesBackAtOnceAndIsInNoStatistics) {
  std::size_t live = 0;
  MemoryPools pools([&](std::size_t size) { return std::make_unique<CountedPage>(size, live); }, 0);
  const Grant grant = pools.take({5000, AllocationMode::dedicated, {}});
  EXPECT_EQ(live, PageSpace::rounded(5000));
  EXPECT_EQ(pools.reserved_bytes(), 0U);
  EXPECT_EQ(pools.report({}).in_use_bytes(), 0U);
  pools.give_back(grant);
  EXPECT_EQ(live, 0U);
}

TEST(MemoryPools, AMillionRandomRequestsNeitherFragmentNorLeak) {
  const int requests = test::instrumented ? 50'000 : 1'000'000;
  for (const std::size_t most_in_use : {600 * mebi, 1200 * mebi}) {
    for (const bool logarithmic : {true, false}) {
      std::size_t live_pages = 0;
      MemoryPools pools([&](std::size_t size) { return std::make_unique<CountedPage>(size, live_pages); }, 2048 * mebi);
      std::mt19937_64 random(42);
      std::uniform_real_distribution<> exponent(0, std::log(64.0 * mebi));
      std::vector<std::pair<Grant, std::size_t>> taken;
      std::size_t in_use = 0, peak = 0, most_reserved = 0;
      for (int i = 0; i < requests; ++i) {
        const std::size_t size =
            logarithmic ? static_cast<std::size_t>(std::exp(exponent(random))) : 1 + random() % (64 * mebi);
        if (in_use + size > most_in_use || (!taken.empty() && random() % 2 == 0)) {
          if (taken.empty()) continue;
          auto& given = taken[random() % taken.size()];
          pools.give_back(given.first);
          in_use -= given.second;
          given = taken.back();
          taken.pop_back();
        } else {
          taken.emplace_back(pools.take({size, AllocationMode::pooled, {random() % 3}}), size);
          in_use += size;
          peak = std::max(peak, in_use);
        }
        most_reserved = std::max(most_reserved, pools.reserved_bytes());
        ASSERT_EQ(pools.reserved_bytes(), live_pages);
      }
      EXPECT_LT(static_cast<double>(most_reserved), 1.5 * static_cast<double>(peak));
      for (const auto& [grant, size] : taken) pools.give_back(grant);
      const MemoryReport report = pools.report({});
      EXPECT_EQ(report.in_use_bytes(), 0U);
      for (const auto& stream : report.streams) EXPECT_EQ(stream.allocations + stream.in_use_bytes, 0U);
      pools.trim();
      EXPECT_EQ(live_pages, 0U);
    }
  }
}

TEST(Layouts, StridesFollowThePolicy) {
  using Shape = std::vector<std::size_t>;
  EXPECT_EQ(strides_of(Shape{2, 3, 5}, 4, LayoutPolicy::contiguous), (Shape{15, 5, 1}));
  EXPECT_EQ(strides_of(Shape{2, 3, 5}, 4, LayoutPolicy::optimized), (Shape{24, 8, 1}));
  EXPECT_EQ(strides_of(Shape{2, 4}, 4, LayoutPolicy::optimized), (Shape{4, 1}));
  EXPECT_EQ(strides_of(Shape{2, 3}, 12, LayoutPolicy::optimized), (Shape{4, 1}));  // 48 bytes hold both 12 and 16
  EXPECT_EQ(strides_of(Shape{7}, 2, LayoutPolicy::optimized), (Shape{1}));
  EXPECT_EQ(strides_of(Shape{}, 2, LayoutPolicy::optimized), (Shape{}));
}

TEST(Layouts, OnlyTheLastDimensionMayBePadded) {
  using Shape = std::vector<std::size_t>;
  const Rows rows = rows_of(Shape{2, 3, 5}, Shape{24, 8, 1}, 4);
  EXPECT_EQ(rows.count, 6U);
  EXPECT_EQ(rows.bytes, 20U);
  EXPECT_EQ(rows.pitch, 32U);
  EXPECT_FALSE(rows.contiguous());
  EXPECT_TRUE(rows_of(Shape{2, 3, 5}, Shape{15, 5, 1}, 4).contiguous());
  EXPECT_EQ(rows_of(Shape{0, 5}, Shape{5, 1}, 4).packed_size(), 0U);
  EXPECT_EQ(rows_of(Shape{1, 5}, Shape{999, 1}, 4).packed_size(), 20U);  // the stride of one element is never taken
  EXPECT_EQ(rows_of(Shape{}, Shape{}, 4).packed_size(), 4U);
  EXPECT_THROW(rows_of(Shape{2, 3, 5}, Shape{30, 8, 1}, 4), UsageError);
  EXPECT_THROW(rows_of(Shape{2, 3}, Shape{1, 2}, 4), UsageError);
  EXPECT_THROW(rows_of(Shape{2, 3}, Shape{3}, 4), UsageError);
  EXPECT_THROW(rows_of(Shape{2, 3}, Shape{3, 1}, 0), UsageError);
  EXPECT_THROW(rows_of(Shape{std::size_t{1} << 40U, std::size_t{1} << 40U}, Shape{std::size_t{1} << 40U, 1}, 4),
               UsageError);
}

TEST(MappedPage, IdsAreNeverUsedAgain) {
  std::uint64_t last = 0;
  for (int i = 0; i < 10; ++i) {
    const MappedPage page(4096);
    EXPECT_GT(page.id(), last);
    EXPECT_EQ(page_of(page.id()).descriptor, page.view().descriptor);
    last = page.id();
  }
  EXPECT_EQ(page_of(last).descriptor, -1);
}

}  // namespace
}  // namespace muster::detail
