#include "digits.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace train_digits {

namespace {

[[noreturn]] void refuse(const std::string& path, int line, const std::string& why) {
  throw std::runtime_error(
      fmt::format("{}, line {}: {}; each line needs 64 pixels from 0 to 16 and a digit", path, line, why));
}

}  // namespace

Digits read_digits(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}; name the data set with --data", path));
  Digits digits;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const char* at = line.data();
    const char* const end = line.data() + line.size();
    for (int column = 0; column <= pixels; ++column) {
      int value = 0;
      const auto [after, error] = std::from_chars(at, end, value);
      const int largest = column < pixels ? 16 : classes - 1;
      if (error != std::errc() || value < 0 || value > largest)
        refuse(path, number, fmt::format("value {} is wrong", column + 1));
      if (column < pixels) {
        if (after == end || *after != ',') refuse(path, number, fmt::format("it ends after value {}", column + 1));
        digits.images.push_back(static_cast<float>(value) / 16.0F);
        at = after + 1;
      } else {
        if (after != end) refuse(path, number, "there is more than one digit");
        digits.labels.push_back(static_cast<float>(value));
      }
    }
  }
  if (digits.labels.empty()) throw std::runtime_error(fmt::format("{} is empty", path));
  return digits;
}

std::string default_path() {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename("digits.csv").string();
}

}  // namespace train_digits
