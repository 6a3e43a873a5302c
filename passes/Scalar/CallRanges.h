//===- CallRanges.h - ranges of a call's integers ---------------*- C++ -*-===//
//
// MLIR's integer range analysis, told the limits of a call: positions lie in [-2^30, 2^30], sizes
// and counts fit 32 bits, and a loop visits at most 2^31 - 1 elements.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_SCALAR_CALLRANGES_H
#define PE_PASSES_SCALAR_CALLRANGES_H

#include "dialect/Tile/Tile.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

namespace mlir::tile {

/// Keyed by value; a missing one is unbounded.
using CallRanges = llvm::DenseMap<Value, ConstantIntRanges>;

/// The ranges of all integers of the plan's scalar code. Fails if the analysis fails.
FailureOr<CallRanges> findCallRanges(PlanOp plan);

} // namespace mlir::tile

#endif // PE_PASSES_SCALAR_CALLRANGES_H
