//===- PEKeyHull.h - The keys outside which scalar code masks ---*- C++ -*-===//
#ifndef PE_DIALECT_PE_PEKEYHULL_H
#define PE_DIALECT_PE_PEKEYHULL_H

#include "dialect/PE/PEMasks.h"

namespace mlir::pe {

/// Emits an interval of keys outside which the code of `mask` says false for the query at `row`, by
/// those of its conditions that compare j with something else than i: `j < n[b] and (i - j) % 4 ==
/// 0` gives j < n[b]. None where no condition does. What compares i - j is no part of it: that is
/// the mask's range.
std::optional<KeyInterval>
buildKeyHull(MaskFnOp mask, OpBuilder &builder, const PairPoint &row,
             llvm::function_ref<Value(Value tensor, ValueRange indices)> read);

/// Whether there is one.
bool hasKeyHull(MaskFnOp mask);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEKEYHULL_H
