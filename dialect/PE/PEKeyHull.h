//===- PEKeyHull.h - An upper bound on the keys of a mask -------*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEKEYHULL_H
#define PE_DIALECT_PE_PEKEYHULL_H

#include "dialect/PE/PEMasks.h"

namespace mlir::pe {

/// Emits an interval of keys outside of which the code of `mask` yields false for the head and
/// query at `row`. It follows from the conditions that compare j with a value other than i: for
/// `j < n[b] and (i - j) % 4 == 0` it is j < n[b]. Returns nullopt if there is no such condition.
/// Comparisons of i - j are not included; they belong to the mask's range.
std::optional<KeyInterval>
buildKeyHull(MaskFnOp mask, OpBuilder &builder, const PairPoint &row,
             llvm::function_ref<Value(Value tensor, ValueRange indices)> read);

/// Returns the scope of that interval; nullopt if there is none.
std::optional<IntervalScope> findHullScope(MaskFnOp mask);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEKEYHULL_H
