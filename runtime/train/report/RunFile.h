//===- RunFile.h - What a run left behind, read again -----------*- C++ -*-===//
//
// Three kinds of files hold numbers about runs: the log of `pe train` (one JSON object per line),
// the results.json of `pe demo`, and the table of `pe bench --json`. All are read by one function,
// which takes what it knows and refuses what cannot be such a file, in one line with the place.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REPORT_RUNFILE_H
#define PE_RUNTIME_TRAIN_REPORT_RUNFILE_H

#include "pe/Error.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pe::train {

/// One training run: a log, or an encoding of results.json.
struct RunRecord {
  std::string name;
  /// Step and training loss in bits per character.
  std::vector<std::pair<double, double>> loss;
  /// Context length -> bits per character.
  std::map<int64_t, double> bitsPerChar;
};

/// One half of a row of `pe bench --json`.
struct BenchRecord {
  std::string encoding, half;
  int64_t length = 0;
  double seconds = 0, flops = 0, bytes = 0, share = 0;
};

/// Everything that was found. A table of `pe bench` also says what the machine can do.
struct RunFile {
  std::vector<RunRecord> runs;
  std::vector<BenchRecord> bench;
  std::string cpu;
  int64_t threads = 0;
  /// The rate of copies, counting bytes read and written; 0: not measured.
  double copyBytesPerSecond = 0;
};

/// `name` stands for the file in messages; the run of a log is called after it, without folder and
/// ending. A partial last line of a log, left by a killed process, is ignored.
Expected<RunFile> parseRunFile(const std::string &text, const std::string &name);

/// One file, or of a folder results.json and every *.jsonl and *.json that can be read as above. At
/// least one must be.
Expected<RunFile> readRun(const std::string &path);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_RUNFILE_H
