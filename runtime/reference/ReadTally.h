//===- ReadTally.h - Reads outside of their axes ----------------*- C++ -*-===//
//
// A read whose index is outside its axis gives the nearest element. The reference counts such reads
// of a user's own code at the pairs that count: those that the mask keeps, in the branch that a
// select takes, and in the side of a condition that decides.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_REFERENCE_READTALLY_H
#define PE_RUNTIME_REFERENCE_READTALLY_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pe::reference {

/// What reads of one place in the code did along one axis.
struct OutsideRead {
  std::string tensor;
  std::string location; ///< "FILE:LINE:COL"
  size_t axis = 0;
  int64_t size = 0;
  /// The smallest and the largest index that was outside.
  double least = 0.0, most = 0.0;
  /// How often one was, of how many evaluations.
  int64_t count = 0, evaluations = 0;
  /// What an evaluation is for: "kept pairs", "rows" or "elements".
  std::string unit;

  /// "'table' is read outside its 64 entries along axis 1 at 120 of 4095 kept pairs (index 64 to
  /// 103; the nearest one was used); write ..."
  std::string message() const;
};

/// Counts by the number of the read in its graph and by axis.
class ReadTally {
public:
  void addEvaluation(int root) { ++evaluations[root]; }
  void addOutside(int root, int read, size_t axis, double index);
  void accumulate(const ReadTally &other);

  struct Entry {
    int root = -1;
    int64_t count = 0;
    double least = 0.0, most = 0.0;
  };
  using Entries = std::map<std::pair<int, size_t>, Entry>;
  const Entries &entries() const { return outside; }
  int64_t evaluationsOf(int root) const {
    auto found = evaluations.find(root);
    return found == evaluations.end() ? 0 : found->second;
  }

private:
  std::map<int, int64_t> evaluations; ///< by the root of the code
  Entries outside;
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_READTALLY_H
