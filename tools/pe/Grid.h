//===- Grid.h - Several training runs and their table ---===//
//
// The cells of a grid are the rows of an experiment, once per combination of the values of swept
// flags and once per seed. The result of a finished run is a file in OUT/cells whose name contains
// a hash of everything that determines the result, so that an interrupted grid continues with the
// missing runs. The checkpoints of warm starts are in OUT/starts. A row of the table is printed as
// soon as its runs have ended (GridReport.h).
//
//===----------------------------------------------------------------------===//
#ifndef PE_TOOLS_PE_GRID_H
#define PE_TOOLS_PE_GRID_H

#include "runtime/train/session/Options.h"
#include "tools/pe/Experiment.h"

namespace pe::cli {

/// Runs the experiment's rows with --sweep and --seeds of `options`. The values in `shared`, from
/// which `options` were read, apply to all cells. An experiment without rows has one row with these
/// values. Returns the exit status, 0 unless a signal stopped the grid (Interrupt.h).
Expected<int> runGrid(const train::FlagValues &shared, const train::TrainOptions &options,
                      Experiment experiment);

} // namespace pe::cli

#endif // PE_TOOLS_PE_GRID_H
