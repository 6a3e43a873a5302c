//===- Experiment.h - Comparisons described by a file --------------------===//
//
// An experiment is a JSON object with the flags of all runs, rows with additional flags, warm
// starts of rows, and claims about the results. docs/training.md lists its fields.
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
  /// The flags of all runs.
  std::map<std::string, std::string> flags;
  std::vector<NamedFlags> rows;
  /// Warm starts, trained first, once per seed. A row's `from` may name one.
  std::vector<NamedFlags> starts;
  /// The rows with which the rows below them are compared. If empty, the first row.
  std::vector<std::string> baselines;
  /// True if rows are compared with others.
  bool hasMargins = true;
  std::vector<train::Claim> claims;
  /// True if claims may refer to lengths that are not evaluated, because the command line replaced
  /// the lengths.
  bool claimsMayLackLengths = false;
  std::vector<std::string> limits;
  /// Measure the time of the forward pass instead of the loss or the answers.
  bool timesForward = false;
  /// Additional columns: "dormant", "DfI" and, relative to the weights of `from`, "SFE" after the
  /// last step.
  std::vector<std::string> more;
  /// Repeat runs of other builds of pe.
  bool needsThisBuild = false;
};

/// Returns the file of an experiment. `name` may be its directory: DIR/experiment.json.
std::string experimentFileOf(const std::string &name);

/// Reads a file. `quick` applies its field "quick" as a merge patch (RFC 7386).
Expected<Experiment> readExperiment(const std::string &file, bool quick);

/// Returns the file of an encoding, which users name by a file, "none", or the name of an example.
std::string encodingFileOf(const std::string &name);

} // namespace pe::cli

#endif // PE_TOOLS_PE_EXPERIMENT_H
