#include "output_relay.hpp"

#include <fmt/format.h>

#include <charconv>

namespace muster::launcher {

std::string OutputRelay::present(std::string_view line, Colour colour) {
  const auto comma = line.find(',');
  const auto bracket = line.find("]<std");
  const auto text = line.find(">:");
  int rank = 0;
  if (line.empty() || line.front() != '[' || comma == std::string_view::npos || bracket == std::string_view::npos ||
      text == std::string_view::npos || comma > bracket || bracket > text) {
    return std::string(line);
  }
  const auto [end, error] = std::from_chars(line.data() + comma + 1, line.data() + bracket, rank);
  if (error != std::errc() || end != line.data() + bracket) return std::string(line);
  const std::string_view said = line.substr(text + 2);
  if (colour == Colour::off) return fmt::format("{}| {}", rank, said);
  constexpr int first_colour = 31, colours = 6;
  return fmt::format("\x1b[{}m{}|\x1b[0m {}", first_colour + rank % colours, rank, said);
}

void OutputRelay::take(std::string_view bytes) {
  partial_ += bytes;
  std::size_t at = 0;
  for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n', at)) {
    fmt::print(to_, "{}\n", present(std::string_view(partial_).substr(at, end - at), colour_));
    at = end + 1;
  }
  partial_.erase(0, at);
  std::fflush(to_);
}

void OutputRelay::finish() {
  if (!partial_.empty()) fmt::print(to_, "{}\n", present(partial_, colour_));
  partial_.clear();
  std::fflush(to_);
}

}  // namespace muster::launcher
