//===- Report.h - The page about several runs -------------------------------*- C++ -*-===//
//
// The page of pe demo, pe compare, and of sweeps. One HTML file without scripts or external
// resources: the table of bits per character, charts as inline SVG, what was trained on what, and
// the limits of the results.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REPORT_REPORT_H
#define PE_RUNTIME_TRAIN_REPORT_REPORT_H

#include "runtime/chart/Heatmap.h"
#include "runtime/chart/LineChart.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pe::train {

/// One trained encoding, or another row of a table: the means over its seeds.
struct EncodingResult {
  std::string name;
  int64_t encodingParams = 0, modelParams = 0;
  double trainSeconds = 0;
  /// Context length -> bits per character.
  std::map<int64_t, double> bitsPerChar;
  /// Step and smoothed training loss in bits per character.
  std::vector<std::pair<double, double>> curve;
  /// Step and held-out bits per character at the shortest length; of a task the accuracy.
  std::vector<std::pair<double, double>> evaluations = {};
  int64_t seeds = 1;
  /// Standard deviations over the seeds, and of a task the share of right answers by length.
  std::map<int64_t, double> deviation = {}, accuracy = {}, accuracyDeviation = {};
};

struct ReportContent {
  std::string title = "Positional encodings, compiled and trained";
  /// What bits are per; for a task accuracy is shown in their place.
  std::string unit = "character";
  bool isTask = false;
  std::string corpusDirectory, corpusSha256;
  int64_t corpusBytes = 0, corpusFiles = 0;
  /// "2 layers, 64 wide ...", one sentence about the model and its training.
  std::string setup;
  double seconds = 0;
  int threads = 0;
  int64_t trainedLength = 256;
  std::vector<EncodingResult> results;
  /// Bias against distance; heatmaps of learned biases.
  std::vector<chart::LineChart> biasCharts;
  std::vector<chart::Heatmap> heatmaps;
  /// What the table does not show.
  std::vector<std::string> limits;
};

std::string toHtml(const ReportContent &content);

/// results.json as docs/contract.md defines it.
std::string toJson(const ReportContent &content);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_REPORT_H
