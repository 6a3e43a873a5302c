//===- LearnedBias.h - Plots of a trained bias ------------------*- C++ -*-===//
//
// The bias that attention of a trained layer adds to its scores, sampled for plots: the row of one
// query by distance and, if the bias is not a function of the distance, a matrix over some queries
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

/// A sampled bias in logits; NaN for pairs that attention masks out.
struct LearnedBias {
  /// The position of the query in `rows`: the last one, or one in the middle if queries see later
  /// keys.
  int64_t query = 0;
  /// The longest distance seen in training; 0 if unknown.
  int64_t trainedLength = 0;
  /// [head][key].
  std::vector<std::vector<double>> rows;
  /// The distance between adjacent queries or keys of `maps`.
  int64_t step = 1;
  /// [head][query][key]; empty if the bias is a function of the distance, which `rows` fully
  /// describes.
  std::vector<std::vector<std::vector<double>>> maps;

  /// Returns true if there is nothing to draw.
  bool isZero() const;
};

/// Returns true if the plots are the same.
bool isSame(const LearnedBias &a, const LearnedBias &b);

/// Returns a chart with one line per head, titled after the encoding.
chart::LineChart distanceChartOf(const std::string &name, const LearnedBias &bias);
/// Returns a heatmap with one panel per head.
chart::Heatmap mapOf(const std::string &name, const LearnedBias &bias);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_LEARNEDBIAS_H
