//===- LearnedBias.h - Pictures of a trained bias ----------------*- C++ -*-===//
//
// What attention of a trained layer adds to its scores, as far as pictures show it: one query's row
// against the distance, and where a bias is no function of the distance, a matrix of some queries
// and keys.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REPORT_LEARNEDBIAS_H
#define PE_RUNTIME_TRAIN_REPORT_LEARNEDBIAS_H

#include "runtime/chart/Heatmap.h"
#include "runtime/chart/LineChart.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pe::train {

/// In logits; NaN where attention leaves the pair out.
struct LearnedBias {
  /// The position of the query in `rows`: the last one, or one in the middle where queries see
  /// later keys, too.
  int64_t query = 0;
  /// Farther keys than this length were not seen in training; 0: not known.
  int64_t trainedLength = 0;
  /// Head x key.
  std::vector<std::vector<double>> rows;
  /// Between two queries or keys of `maps`.
  int64_t step = 1;
  /// Head x query x key; empty for a function of the distance, of which `rows` say all.
  std::vector<std::vector<std::vector<double>>> maps;

  /// Whether there is nothing to draw.
  bool isZero() const;
};

/// Whether the pictures are the same.
bool isSame(const LearnedBias &a, const LearnedBias &b);

/// One line per head, named after the encoding.
chart::LineChart distanceChartOf(const std::string &name, const LearnedBias &bias);
/// One panel per head.
chart::Heatmap mapOf(const std::string &name, const LearnedBias &bias);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_LEARNEDBIAS_H
