//===- Report.h - The page about several runs -------------------------------*- C++ -*-===//
//
// The page of pe demo, pe compare, and of sweeps. One HTML file without scripts or external
// resources: the table of bits per character, charts as inline SVG, what was trained on what, and
// the limits of the results.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REPORT_REPORT_H
#define PE_RUNTIME_TRAIN_REPORT_REPORT_H

#include "runtime/train/report/LearnedBias.h"
#include "runtime/train/report/Margins.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pe::train {

/// What a table shows by length: bits of held-out text, of a task the share of right answers, or
/// the milliseconds of a forward pass over one sequence.
enum class Measure : uint8_t { Bits, Accuracy, ForwardTime };

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
  std::map<int64_t, double> milliseconds = {};
  /// What the table shows, of every seed.
  std::map<int64_t, std::vector<double>> bySeed = {};
  /// Further columns: name -> value of every seed.
  std::map<std::string, std::vector<double>> more = {};
  /// The row that this one is compared with; empty: none.
  std::string baseline = {};
  /// Of the first layer and, of several seeds, the first.
  LearnedBias bias = {};
};

/// The row of several runs that differ in their seed alone; `runs` is not empty.
EncodingResult meanOf(const std::vector<const EncodingResult *> &runs, Measure measure);

struct ReportContent {
  std::string title = "Positional encodings, compiled and trained";
  /// What the runs are to find out; may be empty.
  std::string question;
  Measure measure = Measure::Bits;
  /// What bits are per.
  std::string unit = "character";
  std::string corpusDirectory, corpusSha256;
  int64_t corpusBytes = 0, corpusFiles = 0;
  /// "12 files, 1 of them held out"; empty: the data is generated.
  std::string corpusSplit;
  /// "2 layers, 64 wide ...", one sentence about the model and its training.
  std::string setup;
  double seconds = 0;
  int threads = 0;
  int64_t trainedLength = 256;
  std::vector<EncodingResult> results;
  std::vector<Claim> claims;
  /// What the table does not show.
  std::vector<std::string> limits;
};

std::string toHtml(const ReportContent &content);

/// The tables and the claims, for a terminal (Table.h for a table row by row).
std::string toText(const ReportContent &content);

/// results.json as docs/contract.md defines it.
std::string toJson(const ReportContent &content);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_REPORT_H
