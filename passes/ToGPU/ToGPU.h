//===- ToGPU.h - the passes that create GPU kernels -----------------------===//
#ifndef PE_PASSES_TOGPU_TOGPU_H
#define PE_PASSES_TOGPU_TOGPU_H

#include "dialect/Step/GpuSchedule.h"
#include "dialect/Tile/Tile.h"
#include "passes/Schedule/StepPrograms.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tile {

namespace gpu {

/// Emits an error at the first part of a stage with a stream that has no fragment kernel.
LogicalResult checkStage(StageOp stage, const GpuSchedule &schedule);
/// Creates the kernel and the launch of a stage with a stream; the stage remains.
void lowerStreamStage(StageOp stage, const GpuSchedule &schedule, const StageProgram &steps);
/// Replaces math functions without an accurate PTX instruction by calls of the device library.
LogicalResult callMathLibrary(mlir::gpu::GPUModuleOp kernels);
/// Creates the kernel and the launch of a stage with values but without a stream.
void lowerVectorStage(StageOp stage);

} // namespace gpu

#define GEN_PASS_DECL
#include "passes/ToGPU/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/ToGPU/Passes.h.inc"

} // namespace mlir::tile

#endif // PE_PASSES_TOGPU_TOGPU_H
