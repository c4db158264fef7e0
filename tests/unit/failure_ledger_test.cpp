#include "server/failure_ledger.hpp"

#include <gtest/gtest.h>

namespace muster::detail {
namespace {

Failure failure(const char* text) { return std::make_shared<const Error>(ErrorCode::internal, text); }

TEST(FailureLedger, ReportsEachFailureOnceByPosition) {
  FailureLedger ledger;
  const Failure a = failure("a"), b = failure("b");
  ledger.taint(0, 10, a);
  ledger.taint(20, 30, b);
  ledger.taint(40, 50, a);
  EXPECT_EQ(ledger.within(0, 100), (std::vector<Failure>{a, b}));
  EXPECT_EQ(ledger.within(10, 20), std::vector<Failure>{});
  EXPECT_EQ(ledger.first_within(25, 26), b);
}

TEST(FailureLedger, AFullOverwriteClearsAPartialOneLeavesTheRest) {
  FailureLedger ledger;
  const Failure a = failure("a");
  ledger.taint(0, 100, a);
  ledger.clear(40, 60);
  EXPECT_EQ(ledger.first_within(0, 40), a);
  EXPECT_EQ(ledger.first_within(40, 60), nullptr);
  EXPECT_EQ(ledger.first_within(60, 100), a);
  ledger.clear(0, 100);
  EXPECT_TRUE(ledger.empty());
}

TEST(FailureLedger, ALaterFailureTakesThePlaceOfTheEarlier) {
  FailureLedger ledger;
  const Failure a = failure("a"), b = failure("b");
  ledger.taint(0, 100, a);
  ledger.taint(50, 150, b);
  EXPECT_EQ(ledger.within(0, 50), std::vector<Failure>{a});
  EXPECT_EQ(ledger.within(50, 150), std::vector<Failure>{b});
}

TEST(FailureLedger, AnEmptyBufferCarriesFailuresToo) {
  FailureLedger ledger;
  const Failure a = failure("a");
  ledger.taint(0, 0, a);
  EXPECT_EQ(ledger.first_within(0, 0), a);
  ledger.clear(0, 0);
  EXPECT_TRUE(ledger.empty());
}

}  // namespace
}  // namespace muster::detail
