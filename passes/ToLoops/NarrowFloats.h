//===- NarrowFloats.h - bf16 and tf32 without hardware support ------------===//
#ifndef PE_PASSES_TOLOOPS_NARROWFLOATS_H
#define PE_PASSES_TOLOOPS_NARROWFLOATS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::tile {

/// Replaces the conversions to and from bf16 and tf32 in the module's functions by bit operations,
/// for machines without such instructions. A tf32 becomes an f32 whose last 13 mantissa bits are
/// zero. With `hasBf16`, the machine converts bf16.
///
/// ```mlir
/// %0 = arith.truncf %x to_nearest_away : f32 to tf32
/// ==>
/// %bits = arith.bitcast %x : f32 to i32
/// %up = arith.addi %bits, %c4096 : i32
/// %kept = arith.andi %up, %c-8192 : i32
/// %rounded = arith.bitcast %kept : i32 to f32   // and NaN stays NaN
/// ```
/// Test: test/passes/ToLoops/narrow-floats.mlir
LogicalResult lowerNarrowFloats(ModuleOp module, bool hasBf16 = false);

} // namespace mlir::tile

#endif // PE_PASSES_TOLOOPS_NARROWFLOATS_H
