//===- Schedule.h - choices, written as attributes ------------------------===//
//
// Strategy is decided here and applied by the lowerings, so each can be tested alone.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCHEDULE_SCHEDULE_H
#define PE_PASSES_SCHEDULE_SCHEDULE_H

#include "dialect/Tile/Owner.h"
#include "passes/Schedule/CpuSchedule.h"
#include "passes/Schedule/GpuSchedule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tile {

enum class Machine { Cpu, Gpu };

/// Whether rows or columns own the loops of a stage with a stream, on such a machine.
Owner chooseOwner(StageOp stage, Machine machine);

/// Whether the scalar code for one pair has more than a thousand operations. It is repeated for
/// every key and vector of a tile, or every pair of a thread: large tiles would save little time
/// and take LLVM minutes to compile.
bool hasLongScalarCode(StageOp stage);

/// Whether the operation is a call of a function on a CPU, and no instruction.
bool isFunctionCall(Operation *op);

/// The schedule of a stage with a stream.
CpuSchedule chooseCpuSchedule(StageOp stage, CpuTarget target);

/// The same of a stage of loops.
CpuLoops chooseCpuLoops(StageOp stage, CpuTarget target);

/// The same for GPUs. Keys between snapshots are the inner block of every stage that has snapshots:
/// as many as one panel of 8 KiB holds. `sharedBytes`: of a CTA of the chip.
int64_t chooseGpuKeyBlock(PlanOp plan);
GpuSchedule chooseGpuSchedule(StageOp stage, int64_t sharedBytes);

/// Whether the stage keeps or reads something per block of keys (extent `kb`).
bool hasSnapshots(StageOp stage);

/// Writes `key_block` on a plan that counts blocks of keys: the keys of the blocks of its stages
/// that have snapshots (`keysOf` reads their schedule), or `otherwise`. Fails with an error where
/// these, or what the plan has already, differ.
LogicalResult writeKeyBlock(PlanOp plan, int64_t otherwise,
                            llvm::function_ref<FailureOr<int64_t>(StageOp)> keysOf);

#define GEN_PASS_DECL
#include "passes/Schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Schedule/Passes.h.inc"

} // namespace mlir::tile

#endif // PE_PASSES_SCHEDULE_SCHEDULE_H
