#pragma once

#include <string>
#include <vector>

namespace train_digits {

inline constexpr int pixels = 64, classes = 10;

/// Images as rows of 64 pixels from 0 to 1, and what they show.
struct Digits {
  std::vector<float> images;
  std::vector<float> labels;
  [[nodiscard]] int count() const { return static_cast<int>(labels.size()); }
};

/// Reads the data set. Throws std::runtime_error naming the line that cannot be read.
Digits read_digits(const std::string& path);

/// `digits.csv` beside the running program.
std::string default_path();

}  // namespace train_digits
