//===- GridReport.h - The report of several runs ---===//
//
// Prints the table of a grid row by row and, at the end, margins, claims and limits. Writes
// OUT/results.json and OUT/report.html.
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

/// Numbers of runs.
struct RunCounts {
  size_t all = 0, finishedBefore = 0;
  /// The runs of `finishedBefore` that another build of pe trained.
  size_t ofOtherBuilds = 0;
};

class GridReport {
public:
  GridReport(const Experiment &experiment, const train::TrainConfig &config,
             std::vector<NamedFlags> rows, int64_t seeds);

  /// Must be called before the first row. `runs` are the settings of all runs, `text` is the data
  /// of the last one.
  void begin(const std::vector<const train::TrainConfig *> &runs, const train::Corpus &text,
             const RunCounts &counts);
  /// Adds the runs of a row, which have all ended. Prints the row once the rows above it are
  /// printed.
  void add(size_t row, const std::vector<const train::EncodingResult *> &runs);
  /// Must be called after the last row.
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
  /// The rows that have been added, and the number of printed rows.
  std::vector<bool> isThere;
  size_t printed = 0;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

} // namespace pe::cli

#endif // PE_TOOLS_PE_GRIDREPORT_H
