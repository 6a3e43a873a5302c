//===- Triage.h - Groups findings by cause ----------------------*- C++ -*-===//
//
// Groups the findings of a run: a fault that a hundred programs hit is one entry with its first
// seed and the command that reproduces it.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_TRIAGE_H
#define PE_TEST_FUZZ_TRIAGE_H

#include "fuzz/Workers.h"

#include <map>
#include <string>
#include <vector>

namespace pe::fuzz {

/// Replaces the numbers of a message, so that one cause is one group.
std::string generalize(const std::string &message);

/// Returns true if the message is one clear line without compiler internals.
bool isClearMessage(const std::string &message);

/// Returns the group of a task that crashed or timed out: its phase, the signal, and the last line
/// of an assertion or a sanitizer.
std::string groupOfDeath(const Outcome &outcome);

class Triage {
public:
  /// Adds a finding. The first of each group is printed to standard error immediately, so that the
  /// findings of a long run can be read before it ends.
  void add(const std::string &group, uint64_t seed, const std::string &detail);
  bool isEmpty() const { return groups.empty(); }
  /// Returns the groups, largest first: the count, the first seeds, the first detail, and `command`
  /// followed by the first seed.
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
