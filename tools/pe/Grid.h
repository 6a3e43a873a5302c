//===- Grid.h - Several training runs and their table ---===//
//
// The cells of a grid are the rows of an experiment, once for every combination of the values of
// swept flags; each runs once per seed. What a finished run found is a file in OUT/cells whose name
// has a hash of everything that decides the result, so that a grid that was killed goes on with the
// runs that are missing; the checkpoints of warm starts are in OUT/starts. A row of the table is
// printed as soon as its runs have ended (GridReport.h).
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_GRID_H
#define PE_TOOLS_PE_GRID_H

#include "runtime/train/session/Options.h"
#include "tools/pe/Experiment.h"

namespace pe::cli {

/// Runs the experiment's rows, with --sweep and --seeds of `options`, which are read from the
/// values that the cells share. Without rows there is one, of those values. The exit status, 0
/// unless a signal stopped it (Interrupt.h).
Expected<int> runGrid(const train::FlagValues &shared, const train::TrainOptions &options,
                      Experiment experiment);

} // namespace pe::cli

#endif // PE_TOOLS_PE_GRID_H
