//===- Sweep.h - The rows and seeds of several runs ---===//
#ifndef PE_TOOLS_PE_SWEEP_H
#define PE_TOOLS_PE_SWEEP_H

#include "tools/pe/Experiment.h"

namespace pe::cli {

/// A flag and its values.
struct Axis {
  std::string key;
  std::vector<std::string> values;
};

/// Parses "KEY=A,B;KEY=C,D". Reports unknown flags, and flags that do not affect the result.
Expected<std::vector<Axis>> parseSweep(const std::string &text);

/// Returns every row with every combination of the values of --sweep; the last flag varies fastest.
/// If there are no rows, there is one with all seeds.
Expected<std::vector<NamedFlags>> rowsOf(const std::vector<NamedFlags> &rows,
                                         const std::string &sweep);

/// Parses "0,1,2".
Expected<std::vector<std::string>> parseSeeds(const std::string &text);

} // namespace pe::cli

#endif // PE_TOOLS_PE_SWEEP_H
