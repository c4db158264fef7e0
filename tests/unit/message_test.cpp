#include "bootstrap/message.hpp"

#include <gtest/gtest.h>

#include <random>

namespace muster::detail {
namespace {

TEST(Message, ReadsWhatWasWritten) {
  const std::vector<DeviceId> devices{{Backend::host, {3}, 1}, {Backend::host, {0}, 2}};
  const std::string bytes = MessageWriter().put(std::uint64_t{42}).put(std::string_view("text")).put(devices).take();
  MessageReader reader(bytes);
  EXPECT_EQ(reader.get<std::uint64_t>(), 42U);
  EXPECT_EQ(reader.text(), "text");
  EXPECT_EQ(reader.devices(), devices);
}

TEST(Message, EveryCutAndEveryWildLengthIsRefused) {
  const std::vector<DeviceId> devices(3);
  const std::string bytes = MessageWriter().put(std::string_view("some text")).put(devices).take();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(
        {
          MessageReader reader(std::string_view(bytes).substr(0, size));
          reader.text();
          reader.devices();
        },
        Error)
        << size;
  }
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string wild(random() % 64, '\0');
    for (char& byte : wild) byte = static_cast<char>(random());
    try {
      MessageReader reader(wild);
      reader.text();
      reader.devices();
    } catch (const Error&) {  // refused; what must not happen is a read beyond the end, which the sanitizers see
    }
  }
}

}  // namespace
}  // namespace muster::detail
