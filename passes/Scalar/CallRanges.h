//===- CallRanges.h - ranges of a call's integers ---------------*- C++ -*-===//
//
// Runs MLIR's integer range analysis with the limits of a call: positions are in [-2^30, 2^30],
// sizes and counts fit in 32 bits, and a loop visits at most 2^31 - 1 elements.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCALAR_CALLRANGES_H
#define PE_PASSES_SCALAR_CALLRANGES_H

#include "dialect/Tile/Tile.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

namespace mlir::tile {

/// Ranges by value; a value without an entry is unbounded.
using CallRanges = llvm::DenseMap<Value, ConstantIntRanges>;

/// Returns the ranges of all integers of the plan's scalar code. Fails if the analysis fails.
FailureOr<CallRanges> findCallRanges(PlanOp plan);

} // namespace mlir::tile

#endif // PE_PASSES_SCALAR_CALLRANGES_H
