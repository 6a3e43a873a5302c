//===- RopeScaling.h - RoPE scaling for long contexts -----------*- C++ -*-===//
//
// Implements the published definitions (docs/encodings/rotations.md), with the derivative with
// respect to the base.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_ROPESCALING_H
#define PE_RUNTIME_REFERENCE_ROPESCALING_H

#include "runtime/reference/ExportedProgram.h"

#include <map>
#include <string>
#include <vector>

namespace pe::reference {

/// A value and its derivative with respect to the base.
struct Dual {
  double value;
  double slope;
};

/// The attribute `scaling`: its kind, empty if there is no scaling, and its numbers by name.
struct RopeScaling {
  std::string kind;
  std::map<std::string, double> numbers;
  std::map<std::string, std::vector<double>> lists;
  /// Returns a number of the kind, or its default.
  double get(const std::string &name) const;
};

/// Reads the attribute `scaling` of a rotation; an unknown kind is an error.
Expected<RopeScaling> readScaling(const Operation &operation);

/// Returns frequency `pair` of n rotated dims, in a call whose keys end at `length`.
Dual scaledFrequency(const RopeScaling &scaling, Dual base, int64_t pair, int64_t n,
                     int64_t length);

/// Returns the factor on cosines and sines.
double attentionFactor(const RopeScaling &scaling);

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_ROPESCALING_H
