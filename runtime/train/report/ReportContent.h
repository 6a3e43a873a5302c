//===- ReportContent.h - The rows and claims of a report --------*- C++ -*-===//
#ifndef PE_RUNTIME_TRAIN_REPORT_REPORTCONTENT_H
#define PE_RUNTIME_TRAIN_REPORT_REPORTCONTENT_H

#include "runtime/train/report/LearnedBias.h"
#include "runtime/train/report/Margins.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pe::train {

/// The quantity that a table shows by length: bits of held-out text, the share of correct answers
/// of a task, or the milliseconds of a forward pass over one sequence.
enum class Measure : uint8_t { Bits, Accuracy, ForwardTime };

/// A trained encoding, or another row of a table: the means over its seeds.
struct EncodingResult {
  std::string name;
  int64_t encodingParams = 0, modelParams = 0;
  double trainSeconds = 0;
  /// Context length -> bits per character.
  std::map<int64_t, double> bitsPerChar;
  /// Step and smoothed training loss in bits per character.
  std::vector<std::pair<double, double>> curve;
  /// Step and held-out bits per character at the shortest length; for a task the accuracy.
  std::vector<std::pair<double, double>> evaluations = {};
  int64_t seeds = 1;
  /// Standard deviations over the seeds, and for a task the share of correct answers, by length.
  std::map<int64_t, double> deviation = {}, accuracy = {}, accuracyDeviation = {};
  std::map<int64_t, double> milliseconds = {};
  /// The values that the table shows, one per seed.
  std::map<int64_t, std::vector<double>> bySeed = {};
  /// Additional columns: name -> one value per seed.
  std::map<std::string, std::vector<double>> more = {};
  /// The row that this row is compared with; empty for none.
  std::string baseline = {};
  /// The bias of the first layer, for the first seed.
  LearnedBias bias = {};
};

struct ReportContent {
  std::string title = "Positional encodings, compiled and trained";
  /// The question that the runs answer; may be empty.
  std::string question;
  Measure measure = Measure::Bits;
  /// The unit that bits are measured per.
  std::string unit = "character";
  std::string corpusDirectory, corpusSha256;
  int64_t corpusBytes = 0, corpusFiles = 0;
  /// "12 files, 1 of them held out"; empty if the data is generated.
  std::string corpusSplit;
  /// A sentence about the model and its training: "2 layers, 64 wide ...".
  std::string setup;
  double seconds = 0;
  int threads = 0;
  int64_t trainedLength = 256;
  std::vector<EncodingResult> results;
  std::vector<Claim> claims;
  /// Statements about what the table does not show.
  std::vector<std::string> limits;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_REPORTCONTENT_H
