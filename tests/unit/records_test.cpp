// Memory records. Run twice: with MUSTER_RECORDS, and without.

#include <gtest/gtest.h>

#include <muster/client.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/fresh_device.hpp"

namespace muster {
namespace {

TEST(Records, AreLinesOfJsonAndNothingWithoutAFile) {
  const Client client = test::new_device();
  const Handle handle = client.empty(100'000);
  const char* path = std::getenv("MUSTER_RECORDS");
  if (!path) {
    close_all_devices();
    EXPECT_NO_THROW(client.record_memory("off")) << "it reads nothing, so a closed device is no obstacle";
    return;
  }
  std::remove(path);
  client.record_memory("first");
  client.record_memory("second \"quoted\"");
  client.sync();
  std::ifstream file(path);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["label"], "second \"quoted\"");
  EXPECT_EQ(lines[0]["in_use_bytes"], client.memory_report().in_use_bytes());
  EXPECT_EQ(lines[0]["pools"].size(), 4U);
  std::remove(path);
}

}  // namespace
}  // namespace muster
