//===- ToGPU.h - tile stages as GPU kernels -------------------------------===//
#ifndef PE_PASSES_TOGPU_TOGPU_H
#define PE_PASSES_TOGPU_TOGPU_H

#include "dialect/Tile/Tile.h"
#include "passes/Schedule/GpuSchedule.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tile {

namespace gpu {

/// Reports, at its place, what of a stage with a stream has no fragment kernel.
LogicalResult checkStage(StageOp stage, const GpuSchedule &schedule);
/// What pe-divide-loops does to one stage; one without loops remains as it is.
void divideLoops(StageOp stage);
/// A stage with a stream: writes its kernel and its launch; the stage remains.
void lowerStreamStage(StageOp stage, const GpuSchedule &schedule);
/// Replaces functions that PTX has no accurate instruction for by calls of the device library.
LogicalResult callMathLibrary(mlir::gpu::GPUModuleOp kernels);
/// A stage of values without a stream.
void lowerVectorStage(StageOp stage);

} // namespace gpu

#define GEN_PASS_DECL
#include "passes/ToGPU/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/ToGPU/Passes.h.inc"

} // namespace mlir::tile

#endif // PE_PASSES_TOGPU_TOGPU_H
