//===- GridReport.h - What is told of several runs ---===//
//
// The table of a grid, printed a row at a time; at the end margins, claims and limits, and the
// files OUT/results.json and OUT/report.html.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_GRIDREPORT_H
#define PE_TOOLS_PE_GRIDREPORT_H

#include "runtime/train/report/Table.h"
#include "runtime/train/session/Options.h"
#include "tools/pe/Experiment.h"

#include <chrono>
#include <optional>

namespace pe::cli {

/// How many runs there are.
struct RunCounts {
  size_t all = 0, finishedBefore = 0;
  /// Of those: trained by another build of pe.
  size_t ofOtherBuilds = 0;
};

class GridReport {
public:
  GridReport(const Experiment &experiment, const train::TrainConfig &config,
             std::vector<NamedFlags> rows, int64_t seeds);

  /// Before the first row. `runs` are the settings of every run, `text` is what the last one reads.
  void begin(const std::vector<const train::TrainConfig *> &runs, const train::Corpus &text,
             const RunCounts &counts);
  /// The runs of a row, which have all ended; it is printed when those above it are there.
  void add(size_t row, const std::vector<const train::EncodingResult *> &runs);
  /// After the last row.
  Status write();

  train::Measure measure() const { return content.measure; }

private:
  void printHeader() const;
  std::string setupOf() const;

  const Experiment &experiment;
  const train::TrainConfig &config;
  std::vector<NamedFlags> rows;
  int64_t seeds;
  RunCounts counts;
  train::ReportContent content;
  std::optional<train::TextTable> table;
  /// By row; and how many of them are printed.
  std::vector<bool> isThere;
  size_t printed = 0;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

} // namespace pe::cli

#endif // PE_TOOLS_PE_GRIDREPORT_H
