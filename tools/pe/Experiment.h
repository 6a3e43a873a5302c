//===- Experiment.h - Runs to compare, from a file -----------------------===//
//
// An experiment is a JSON object: the flags of every run, rows with flags of their own, warm starts
// that rows begin with, and what is claimed of the results. docs/training.md lists its fields.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_EXPERIMENT_H
#define PE_TOOLS_PE_EXPERIMENT_H

#include "pe/Error.h"
#include "runtime/train/report/Report.h"

#include <map>
#include <string>
#include <vector>

namespace pe::cli {

/// Flags of `pe train` by name.
struct NamedFlags {
  std::string name;
  std::map<std::string, std::string> values;
};

struct Experiment {
  std::string title, question;
  /// Of every run.
  std::map<std::string, std::string> flags;
  std::vector<NamedFlags> rows;
  /// Trained first, once per seed; a row's `from` may name one.
  std::vector<NamedFlags> starts;
  /// Rows that those below them are compared with; empty: the first row.
  std::vector<std::string> baselines;
  /// Whether rows are compared with others at all.
  bool hasMargins = true;
  std::vector<train::Claim> claims;
  /// Whether claims may speak of lengths that are not evaluated: the command line replaced these.
  bool claimsMayLackLengths = false;
  std::vector<std::string> limits;
  /// Instead of the loss or the answers.
  bool timesForward = false;
  /// Columns: "dormant", "DfI" and, from the weights of `from`, "SFE" after the last step.
  std::vector<std::string> more;
  /// Whether what another build of pe found is found again.
  bool needsThisBuild = false;
};

/// The file of a name that may be the file's folder: FOLDER/experiment.json.
std::string experimentFileOf(const std::string &name);

/// Reads a file. `quick`: with its field of that name as a merge patch (RFC 7386).
Expected<Experiment> readExperiment(const std::string &file, bool quick);

/// An encoding as users name it: a file, "none", or one of pe's own without folder and ending.
std::string encodingFileOf(const std::string &name);

} // namespace pe::cli

#endif // PE_TOOLS_PE_EXPERIMENT_H
