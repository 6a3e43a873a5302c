//===- ReadTally.h - Counts of out-of-range reads ---------------*- C++ -*-===//
//
// A read with an index outside its axis returns the nearest element. The reference counts these
// reads in the user's code at the pairs where they affect the result: pairs that the mask keeps, in
// the branch that a select takes, and in the operand that decides a condition.
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

/// The out-of-range reads of one read in the code along one axis.
struct OutsideRead {
  std::string tensor;
  std::string location; ///< "FILE:LINE:COL"
  size_t axis = 0;
  int64_t size = 0;
  /// The smallest and the largest out-of-range index.
  double least = 0.0, most = 0.0;
  /// The number of evaluations with an out-of-range index, and of all evaluations.
  int64_t count = 0, evaluations = 0;
  /// The unit of an evaluation: "kept pairs", "rows" or "elements".
  std::string unit;

  /// Formats "'table' is read outside its 64 entries along axis 1 at 120 of 4095 kept pairs (index
  /// 64 to 103; the nearest entry was used); write ..."
  std::string message() const;
};

/// Counts by the index of the read in its graph and by axis.
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
  std::map<int, int64_t> evaluations; ///< by root
  Entries outside;
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_READTALLY_H
