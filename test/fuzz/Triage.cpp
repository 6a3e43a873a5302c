//===- Triage.cpp - Groups findings by cause ------------------------------===//

#include "fuzz/Triage.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <sstream>

namespace pe::fuzz {
namespace {

/// Returns the most informative line of the output of a crashed process.
std::string lastWords(const std::string &text) {
  std::string best;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    for (const char *mark : {"Assertion", "ERROR: AddressSanitizer", "runtime error:", "LLVM ERROR",
                             "terminate called", "what():", "error:"})
      if (line.find(mark) != std::string::npos)
        best = line;
  return best.substr(0, 200);
}

} // namespace

std::string generalize(const std::string &message) {
  std::string text;
  for (size_t n = 0; n < message.size(); ++n) {
    char c = message[n];
    if (std::isdigit(static_cast<unsigned char>(c))) {
      if (text.empty() || text.back() != 'N')
        text += 'N';
    } else {
      text += c == '\n' ? ' ' : c;
    }
  }
  return text.substr(0, 200);
}

bool isClearMessage(const std::string &message) {
  for (const char *inside : {"\n", "failed to legalize", "failed to verify",
                             "see current operation", "llvm.", "unrealized_conversion"})
    if (message.find(inside) != std::string::npos)
      return false;
  return true;
}

std::string groupOfDeath(const Outcome &outcome) {
  if (outcome.kind == Outcome::Kind::TimedOut)
    return outcome.phase + ": timed out";
  std::string words = lastWords(outcome.text);
  return outcome.phase + ": " + outcome.death + (words.empty() ? "" : ": " + words);
}

void Triage::add(const std::string &group, uint64_t seed, const std::string &detail) {
  Group &found = groups[group];
  if (found.seeds.empty())
    std::fprintf(stderr, "seed %lu: %s\n", static_cast<unsigned long>(seed), group.c_str());
  found.seeds.push_back(seed);
  if (found.seeds.size() == 1 || seed < found.detailSeed) {
    found.detailSeed = seed;
    found.detail = detail;
  }
}

std::string Triage::report(const std::string &command) const {
  std::vector<std::pair<std::string, Group>> sorted(groups.begin(), groups.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return std::pair(b.second.seeds.size(), a.first) < std::pair(a.second.seeds.size(), b.first);
  });
  std::ostringstream out;
  for (auto &[name, group] : sorted) {
    std::sort(group.seeds.begin(), group.seeds.end());
    out << "\n" << group.seeds.size() << " x " << name << "\n  seeds";
    for (size_t n = 0; n < std::min<size_t>(group.seeds.size(), 8); ++n)
      out << " " << group.seeds[n];
    out << (group.seeds.size() > 8 ? " ..." : "") << "\n  " << command << group.seeds[0] << "\n";
    std::istringstream lines(group.detail);
    int count = 0;
    for (std::string line; std::getline(lines, line) && count < 12; ++count)
      out << "  | " << line << "\n";
  }
  return out.str();
}

} // namespace pe::fuzz
