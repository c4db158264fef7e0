#include "mpirun_command.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <stdexcept>
#include <string_view>

namespace muster::launcher {

int slots_of(const std::string& hosts) {
  int slots = 0;
  std::string_view rest(hosts);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view entry = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    const auto colon = entry.find(':');
    int count = 1;
    if (colon != std::string_view::npos) {
      const std::string_view number = entry.substr(colon + 1);
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
      if (error != std::errc() || end != number.data() + number.size() || count < 1) count = 0;
    }
    if (entry.empty() || colon == 0 || count == 0) {
      throw std::invalid_argument(fmt::format("'{}' is no host: write a name, or name:ranks, as in a:2,b:2", entry));
    }
    slots += count;
  }
  return slots;
}

std::vector<std::string> mpirun_command(const LaunchSpec& spec, OutputTags tags,
                                        const std::vector<std::string>& environment, bool as_root) {
  const int slots = slots_of(spec.hosts);
  const int ranks = spec.ranks > 0 ? spec.ranks : (slots > 0 ? slots : 1);
  std::vector<std::string> command{MUSTER_MPIRUN, "-n", std::to_string(ranks)};
  const auto add = [&](std::initializer_list<const char*> words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  if (as_root) add({"--allow-run-as-root"});
  // mpirun would bind the first rank of every host to the first core, also where hosts share cores.
  add({"--oversubscribe", "--bind-to", "none"});
  // Ranks see a terminal of mpirun's, whatever is behind it: programs that draw must know.
  if (tags == OutputTags::per_rank) add({"--tag-output", "-x", "MUSTER_RELAYED=1"});
  if (!spec.hosts.empty()) {
    command.insert(command.end(), {"--host", spec.hosts});
    if (!spec.agent.empty()) command.insert(command.end(), {"--mca", "plm_rsh_agent", spec.agent});
  }
  constexpr std::array passed{"MUSTER_", "UCX_", "ASAN_", "TSAN_", "UBSAN_", "LSAN_"};
  for (const std::string& entry : environment) {
    const std::string name = entry.substr(0, entry.find('='));
    for (const std::string_view prefix : passed) {
      if (name.rfind(prefix, 0) == 0 && name != "MUSTER_DEVICES_PER_RANK" && name != "MUSTER_RELAYED")
        command.insert(command.end(), {"-x", name});
    }
  }
  if (spec.devices_per_rank > 0) {
    command.insert(command.end(), {"-x", fmt::format("MUSTER_DEVICES_PER_RANK={}", spec.devices_per_rank)});
  }
  command.insert(command.end(), spec.program.begin(), spec.program.end());
  return command;
}

}  // namespace muster::launcher
