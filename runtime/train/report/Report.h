//===- Report.h - The demo's page -------------------------------*- C++ -*-===//
//
// One HTML file without scripts or external resources: the table of bits per character, charts as
// inline SVG, what was trained on what, and the limits of the results.
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

/// One trained encoding.
struct EncodingResult {
  std::string name;
  int64_t encodingParams = 0, modelParams = 0;
  double trainSeconds = 0;
  /// Context length -> bits per character.
  std::map<int64_t, double> bitsPerChar;
  /// Step and smoothed training loss in bits per character.
  std::vector<std::pair<double, double>> curve;
};

struct ReportContent {
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
