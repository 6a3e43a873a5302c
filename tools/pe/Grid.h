//===- Grid.h - Several training runs and their table ---===//
//
// The cells of a grid are the combinations of values of some flags; each runs once per seed. What
// a finished run found is a file in OUT/cells whose name has a hash of everything that decides the
// result, so that a grid that was killed goes on with the runs that are missing. At the end there
// are a table, OUT/results.json and OUT/report.html.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_GRID_H
#define PE_TOOLS_PE_GRID_H

#include "runtime/train/session/Options.h"

#include <string>
#include <vector>

namespace pe::cli {

/// A flag and its values.
struct Axis {
  std::string key;
  std::vector<std::string> values;
};

/// "KEY=A,B;KEY=C,D". An unknown flag, or one that does not decide a result, is an error.
Expected<std::vector<Axis>> parseSweep(const std::string &text);

/// Runs the grid of --sweep and --seeds in `options`, whose `arguments` the cells share; `axes`
/// come first. `title` is the report's.
Status runGrid(const std::string &title, const std::vector<std::string> &arguments,
               const train::TrainOptions &options, std::vector<Axis> axes = {});

} // namespace pe::cli

#endif // PE_TOOLS_PE_GRID_H
