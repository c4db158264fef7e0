#include "group/progress.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace muster::detail {
namespace {

Progress wait_for(const bool& flag, std::vector<int>& log, int mark) {
  co_await until([&flag] { return flag; });
  log.push_back(mark);
}

TEST(Progress, GoesOnOnlyWhenItsConditionHolds) {
  bool flag = false;
  std::vector<int> log;
  Progress progress = wait_for(flag, log, 1);
  EXPECT_FALSE(progress.poll());
  EXPECT_FALSE(progress.poll());
  EXPECT_TRUE(log.empty());
  flag = true;
  EXPECT_TRUE(progress.poll());
  EXPECT_EQ(log, std::vector<int>{1});
}

Progress in_order(const bool& a, const bool& b, std::vector<int>& log) {
  co_await wait_for(a, log, 1);
  co_await wait_for(b, log, 2);
  log.push_back(3);
}

TEST(Progress, RunsAnInnerOneToItsEndFirst) {
  bool a = false, b = true;
  std::vector<int> log;
  Progress progress = in_order(a, b, log);
  EXPECT_FALSE(progress.poll());
  a = true;
  EXPECT_TRUE(progress.poll());
  EXPECT_EQ(log, (std::vector<int>{1, 2, 3}));
}

Progress fails(const bool& flag) {
  co_await until([&flag] { return flag; });
  throw std::runtime_error("inner");
}

Progress catches(const bool& flag, std::vector<int>& log) {
  try {
    co_await fails(flag);
  } catch (const std::runtime_error&) {
    log.push_back(7);
    throw;
  }
}

TEST(Progress, AnInnerFailurePassesThroughTheOuterOne) {
  bool flag = false;
  std::vector<int> log;
  Progress progress = catches(flag, log);
  EXPECT_FALSE(progress.poll());
  flag = true;
  EXPECT_THROW(progress.poll(), std::runtime_error);
  EXPECT_EQ(log, std::vector<int>{7});
}

struct Marks {
  std::vector<int>& log;
  ~Marks() { log.push_back(9); }
};

Progress holds(const bool& flag, std::vector<int>& log) {
  const Marks marks{log};
  co_await until([&flag] { return flag; });
}

TEST(Progress, DroppedInTheMiddleItLetsGoOfWhatItHolds) {
  bool flag = false;
  std::vector<int> log;
  {
    Progress progress = holds(flag, log);
    EXPECT_FALSE(progress.poll());
  }
  EXPECT_EQ(log, std::vector<int>{9});
}

}  // namespace
}  // namespace muster::detail
