//===- Margins.h - Significance of differences between runs -----*- C++ -*-===//
//
// Two rows of a table are compared seed by seed: runs with the same seed saw the same text in the
// same order. The mean of the differences has a standard error, and Student's t-test decides
// whether it can be explained by noise. A claim states that one value of a table is lower than
// another.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REPORT_MARGINS_H
#define PE_RUNTIME_TRAIN_REPORT_MARGINS_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pe::train {

/// Returns the mean and the sample standard deviation, which is 0 for one value.
std::pair<double, double> meanOf(const std::vector<double> &values);

/// The mean of paired differences.
struct Margin {
  double mean = 0;
  /// The standard error of the mean; 0 for one seed.
  double error = 0;
  int64_t seeds = 0;

  /// Returns true if a mean of 0 would give such differences in at least one case out of twenty
  /// (two-sided). The result is false for one seed, and for seeds with identical differences.
  bool isNoise() const;
  /// Returns "+0.123 ± 0.004", followed by a ~ if it is noise.
  std::string text() const;
};

/// Returns the margin of the differences, one per seed.
Margin marginOf(const std::vector<double> &differences);

/// A value of a table, or a constant if `row` is empty.
struct Operand {
  std::string row;
  /// A length, or the name of an additional column.
  std::string column = {};
  double constant = 0;
};

/// The claim that `lower` is less than `higher` by at least `by`.
struct Claim {
  std::string text;
  Operand lower, higher;
  double by = 0;
};

enum class Verdict : uint8_t { Holds, Noise, Fails, Unmeasured };
const char *textOf(Verdict verdict);

/// Judges the margin of higher - lower - by.
Verdict judge(const Margin &margin);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_MARGINS_H
