//===- Flags.cpp - The table of flags of `pe train` -----------------------===//
#include "runtime/train/session/Flags.h"

namespace pe::train {

static std::vector<Flag> makeFlags() {
  std::vector<Flag> all = flagsOfTask();
  for (auto more : {flagsOfModel, flagsOfSteps, flagsOfOptimizers, flagsOfChanges, flagsOfRun})
    for (Flag &flag : more())
      all.push_back(std::move(flag));
  return all;
}

const std::vector<Flag> &trainFlags() {
  static const std::vector<Flag> table = makeFlags();
  return table;
}

std::vector<std::string> splitList(const std::string &list) {
  std::vector<std::string> parts;
  int depth = 0;
  for (char c : list.empty() ? list : list + ",") {
    depth += (c == '(' || c == '<') - (c == ')' || c == '>');
    if (parts.empty())
      parts.emplace_back();
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back().push_back(c);
  }
  if (!parts.empty())
    parts.pop_back();
  return parts;
}

} // namespace pe::train
