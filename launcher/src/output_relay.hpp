#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace muster::launcher {

/// Turns mpirun's tagged output into lines with the rank in front, whole lines only, so that ranks never mix in one.
class OutputRelay {
 public:
  enum class Colour : std::uint8_t { off, on };
  OutputRelay(std::FILE* to, Colour colour) : to_(to), colour_(colour) {}

  /// Takes what was read; prints the lines that are complete.
  void take(std::string_view bytes);
  /// The end of the output: prints a last line without an end.
  void finish();

  /// `[1,2]<stdout>:text` as `2| text`; anything else as it is.
  static std::string present(std::string_view line, Colour colour);

 private:
  std::FILE* to_;
  Colour colour_;
  std::string partial_;
};

}  // namespace muster::launcher
