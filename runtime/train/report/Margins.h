//===- Margins.h - What differences between runs mean -----------*- C++ -*-===//
//
// Two rows of a table are compared seed by seed: runs of one seed saw the same text in the same
// order. The mean of the differences has a standard error, and Student's t says whether chance
// alone explains it. A claim says which of two numbers of a table is the lower one.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REPORT_MARGINS_H
#define PE_RUNTIME_TRAIN_REPORT_MARGINS_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pe::train {

/// The mean, and the standard deviation of the sample; 0 for one value.
std::pair<double, double> meanOf(const std::vector<double> &values);

/// A mean of differences.
struct Margin {
  double mean = 0;
  /// Of the mean; 0 for one seed.
  double error = 0;
  int64_t seeds = 0;

  /// Whether a mean of 0 would give such differences in one case of twenty or more (two-sided).
  /// One seed, or seeds without any difference between them, cannot tell.
  bool isNoise() const;
  /// "+0.123 ± 0.004", with a ~ behind it for noise.
  std::string text() const;
};

/// Of differences, seed by seed.
Margin marginOf(const std::vector<double> &differences);

/// A number of a table, or a constant if there is no row.
struct Operand {
  std::string row;
  /// A length, or the name of a further column.
  std::string column = {};
  double constant = 0;
};

/// `lower` is less than `higher`, by at least `by`.
struct Claim {
  std::string text;
  Operand lower, higher;
  double by = 0;
};

enum class Verdict : uint8_t { Holds, Noise, Fails, Unmeasured };
const char *textOf(Verdict verdict);

/// `margin`: of higher - lower - by.
Verdict judge(const Margin &margin);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_MARGINS_H
