//===- StepPrograms.h - the step program of a stage for GPUs ----*- C++ -*-===//
//
// Derives the loop of a stage's stream from its tile program and its choices: which panels share a
// ring of shared memory, which ops are a phase, and when blocks are copied, waited for and computed
// (dialect/Math/StepProgram.h). Lowerings walk the program; `pe compile --emit=step` prints it.
//
// The ops of a stream are one phase, `step`, unless the schedule runs part of it ahead or keeps a
// single block of some panels, or the next blocks are copied after the scores, as for rows without
// a scan. Then they are three: `scores`, the contractions of loaded panels over a depth, with
// everything before them unless they run ahead; `outputs`, from the first contraction with pairs to
// the end; `weights`, everything between. A ring is filled as many trips before its first reader as
// it has slots to spare, or in the trip that reads it.
//
// Example: `ahead = 1, slots = 2, late_slots = 1` for softmax attention gives
//
//   rings: k 2, v 1
//   math, from trip -1:
//     before: fill k[0]
//     trip: take k[n+1] (in flight 0)  fill v[n]  run scores[n+1]  fill k[n+2]  run weights[n]
//           take v[n] (in flight 1)  run outputs[n]
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCHEDULE_STEPPROGRAMS_H
#define PE_PASSES_SCHEDULE_STEPPROGRAMS_H

#include "dialect/Math/StepProgram.h"
#include "dialect/Step/GpuSchedule.h"
#include "dialect/Tile/Tile.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::tile {

/// Returns true if the map only rounds a loaded panel to tf32, which a kernel does in place when
/// the panel has been copied.
bool isRoundingInPlace(MapOp map);

/// Returns true if the load is of a vector over the inner side of its stage, in its stream or
/// before it: the vector is copied to shared memory with each block.
bool isCopiedVector(LoadOp load);

/// A step program, and the parts of the stage that it names.
struct StageProgram {
  ::pe::math::StepProgram program;
  /// The phase of every op of the stream's body.
  llvm::DenseMap<Operation *, int> phases;
  /// The ring of everything that is copied to shared memory for each block: results of loads, and
  /// tables of distances.
  llvm::MapVector<Value, int> rings;
  /// The results of phases that run ahead and that other phases read.
  SmallVector<Value> passed;

  /// Returns the number of blocks between a phase and the trip that runs it.
  int aheadOf(int phase) const;
};

/// Returns the program of a stage with a stream.
StageProgram programOf(StageOp stage, const GpuSchedule &schedule);

/// Returns a text with the schedule of every stage that has one, and the step program of every
/// stage with a stream and a schedule for GPUs. Emits an error and fails like checkProgram.
FailureOr<std::string> describeSteps(ModuleOp module);

/// Emits an error at the stage if its program has a fault, or if phases run ahead and the sums and
/// scores that live meanwhile do not fit the registers of a thread.
LogicalResult checkProgram(StageOp stage, const GpuSchedule &schedule, const StageProgram &program);

} // namespace mlir::tile

#endif // PE_PASSES_SCHEDULE_STEPPROGRAMS_H
