//===- Triage.h - Findings by cause -----------------------------*- C++ -*-===//
//
// The findings of a run, grouped so that a fault that a hundred programs hit is one entry with its
// first seed and the command that reproduces it.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_TRIAGE_H
#define PE_TEST_FUZZ_TRIAGE_H

#include "fuzz/Workers.h"

#include <map>
#include <string>
#include <vector>

namespace pe::fuzz {

/// Without numbers, so that one cause is one group.
std::string generalize(const std::string &message);

/// A message must be one clear line, without compiler internals.
bool isClearMessage(const std::string &message);

/// A finding of a task that crashed or ran out of time: its group says where, by which signal, and
/// the last assertion or sanitizer's line.
std::string groupOfDeath(const Outcome &outcome);

class Triage {
public:
  /// The first of a group is printed to standard error at once, so that a long run can be read
  /// before it ends.
  void add(const std::string &group, uint64_t seed, const std::string &detail);
  bool isEmpty() const { return groups.empty(); }
  /// Groups by size: how often, the first seeds, the first detail, and `command` followed by the
  /// first seed.
  std::string report(const std::string &command) const;

private:
  struct Group {
    std::vector<uint64_t> seeds;
    uint64_t detailSeed = 0;
    std::string detail;
  };
  std::map<std::string, Group> groups;
};

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_TRIAGE_H
