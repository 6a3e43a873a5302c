//===- ToLoops.h - the executable definition of the tile dialect ----------===//
//
// `lowerStageToLoops` lowers any stage to scalar loops, which define the meaning of every tile op.
// Other lowerings are checked against it and use it as the fallback for stages that they cannot
// fuse. The pass is pe-tile-to-loops (Passes.td).
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOLOOPS_TOLOOPS_H
#define PE_PASSES_TOLOOPS_TOLOOPS_H

#include "dialect/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/CommandLine.h"

namespace mlir::tile {

/// The outer loop of a stream. The choice affects results only by rounding.
enum class LoopOwner { Auto, Rows, Columns };

#define GEN_PASS_DECL
#include "passes/ToLoops/Passes.h.inc"

/// For a stage that accesses a buffer with extent `kb`, `blockColumns` must be the plan's
/// key_block.
using LoopOptions = PETileToLoopsPassOptions;

/// Replaces `stage`, with or without a stream, by a function, its temporary buffers and a
/// `tile.launch`.
LogicalResult lowerStageToLoops(StageOp stage, const LoopOptions &options);

#define GEN_PASS_REGISTRATION
#include "passes/ToLoops/Passes.h.inc"

} // namespace mlir::tile

#endif // PE_PASSES_TOLOOPS_TOLOOPS_H
