//===- PtxState.cpp - The state of libcuda on the PTX machine -------------===//

#include "runtime/device/ptx/PtxState.h"

#include "runtime/plan/Machine.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace pe::cuda::host {

Machine &machine() {
  static Machine *theMachine = new Machine(); // outlives users in other static objects
  return *theMachine;
}

std::vector<DeviceState *> &contexts() {
  thread_local std::vector<DeviceState *> ofThread;
  return ofThread;
}

DeviceState *current() { return contexts().empty() ? nullptr : contexts().back(); }

int sharedPerBlock(int chip) {
  const plan::Machine *known = plan::findChip(chip);
  return (known ? known : plan::findMachine("sm_80"))->sharedBytes;
}

/// Reads "chip=80,seed=7". Returns the problem, or an empty string.
static std::string parse(std::string_view text, Settings &settings) {
  settings = Settings();
  uint64_t chip = 0;
  const std::pair<std::string_view, uint64_t *> known[] = {{"chip", &chip},
                                                           {"seed", &settings.seed},
                                                           {"ctas", &settings.ctas},
                                                           {"limit", &settings.limit},
                                                           {"version", &settings.version}};
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view value = part.substr(std::min(equals + 1, part.size()));
    const auto *setting = std::ranges::find(known, part.substr(0, equals),
                                            [](const auto &each) { return each.first; });
    const bool isKnown = setting != std::end(known);
    const char *end = value.data() + value.size();
    if (!isKnown || value.empty() ||
        std::from_chars(value.data(), end, *setting->second).ptr != end)
      return "PE_PTX: expected chip, seed, ctas, limit or version with a number, such as "
             "chip=80,seed=7; found '" +
             std::string(part) + "'";
    if (setting->second == &chip)
      settings.chips.push_back(chip);
  }
  if (settings.chips.empty())
    settings.chips = {80};
  return "";
}

Result readSettings() {
  const char *text = std::getenv("PE_PTX");
  machine().fault = parse(text ? text : "", machine().settings);
  return machine().fault.empty() ? kSuccess : kInvalidValue;
}

} // namespace pe::cuda::host
