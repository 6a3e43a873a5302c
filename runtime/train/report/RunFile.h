//===- RunFile.h - Read the results of runs ---------------------*- C++ -*-===//
// Three kinds of files contain results of runs: the log of `pe train` (one JSON object per line),
// the results.json of `pe demo`, and the table of `pe bench --json`. One function reads all of
// them. It ignores unknown keys and rejects anything that is not such a file, with a one-line error
// that gives the position.
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

/// The content of a file. A table of `pe bench` also describes the machine.
struct RunFile {
  std::vector<RunRecord> runs;
  std::vector<BenchRecord> bench;
  std::string cpu;
  int64_t threads = 0;
  /// The copy rate, counting bytes read and written; 0 if not measured.
  double copyBytesPerSecond = 0;
};

/// Parses a file. `name` is its name in messages; the run of a log is named after it, without
/// directory and extension. A partial last line of a log, such as that of a killed process, is
/// ignored.
Expected<RunFile> parseRunFile(const std::string &text, const std::string &name);

/// Reads one file, or results.json and every *.jsonl and *.json of a directory that can be parsed.
/// It is an error if there is no such file.
Expected<RunFile> readRun(const std::string &path);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_RUNFILE_H
