#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "memory/page_pool.hpp"
#include "muster/error.hpp"

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

PagePool::MakePage real_pages() {
  return [](std::size_t size) { return std::make_unique<MappedPage>(size); };
}

TEST(PagePool, ReusesWhatWasGivenBack) {
  PagePool pool(real_pages(), 0);
  for (int i = 0; i < 1000; ++i) {
    const PageRange range = pool.take(100'000);
    std::memset(range.data(), i, 100'000);
    pool.give_back(range);
  }
  EXPECT_EQ(pool.used_bytes(), 0U);
  EXPECT_LE(pool.reserved_bytes(), std::size_t{4} << 20U);
}

TEST(PagePool, RefusesBeyondItsLimitAndSaysHowMuchIsInUse) {
  PagePool pool(real_pages(), std::size_t{8} << 20U);
  const PageRange range = pool.take(std::size_t{6} << 20U);
  try {
    pool.take(std::size_t{4} << 20U);
    FAIL() << "the limit was passed";
  } catch (const OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find("in use"), std::string::npos);
  }
  pool.give_back(range);
  EXPECT_NO_THROW(pool.give_back(pool.take(std::size_t{4} << 20U)));
}

TEST(PagePool, AnImpossibleSizeIsAnErrorNotACrash) {
  PagePool pool(real_pages(), 0);
  EXPECT_THROW(pool.take(~std::size_t{0}), OutOfMemory);
  EXPECT_THROW(pool.take(std::size_t{1} << 60U), OutOfMemory);
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
