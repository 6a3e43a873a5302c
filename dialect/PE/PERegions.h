//===- PERegions.h - Regions of scalar code -------------------*- C++ -*-===//
//
// The common part of pe.bias_fn, pe.score_fn, pe.mask_fn, pe.factor_fn, pe.sink_fn, pe.content_fn,
// pe.embedding_fn and pe.rotation_fn: captured tensors, scalar code (a region or a formula), and
// the rules for scalar code.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PEREGIONS_H
#define PE_DIALECT_PE_PEREGIONS_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::pe {

/// The form of an operation with a region of scalar code.
struct RegionForm {
  StringRef op; ///< its name without the dialect, as in labels: bias_fn-C1
  /// The leading arguments of the region: a pair of tokens (b, h, i, j); a score and its pair
  /// (s, b, h, i, j); a dimension of a token (p, d, dim, n); a dimension of the vector of a pair
  /// (b, h, i, j, d, dim); a query (b, h, i); or a pair of dims of a head (h, p, n).
  enum class Point { Pair, Score, Token, Content, Row, Dims } point;
  /// The region yields an i1, true for a pair that is kept, instead of a number.
  bool isMask = false;
  /// The region may contain pe.dropout_factor.
  bool drawsChance = false;
  /// The number of values that the region yields.
  unsigned values = 1;

  ArrayRef<StringRef> names() const;
  Type typeOf(MLIRContext *context, unsigned argument) const;
  /// Returns true if real numbers of a formula are f64. The region may then yield an f64.
  bool isWide() const { return point == Point::Dims; }
  /// Returns advice on code that yields a number instead of a condition, or vice versa.
  StringRef adviceOnResult() const;
};

/// Returns the type of the region argument for a capture: f32 for a coordinate, else the same type.
Type typeInRegion(Type capture);

/// Parse and print (captures : types)? attributes? ({region} | expr "formula"), without the
/// result's type. `parseClauses` and `printClauses` handle the clauses after the captures.
ParseResult parseScalarRegion(OpAsmParser &parser, OperationState &result, const RegionForm &form,
                              llvm::function_ref<ParseResult()> parseClauses = {});
void printScalarRegion(OpAsmPrinter &printer, Operation *op);
void printScalarRegion(OpAsmPrinter &printer, Operation *op, OperandRange captures,
                       llvm::function_ref<void()> printClauses,
                       ArrayRef<StringRef> attributesOfClauses = {});
/// Verifies the arguments of the region (C1 and C2).
LogicalResult verifyRegionArguments(Operation *op, const RegionForm &form);
/// Does the same for an operation that has other operands after the captures.
LogicalResult verifyRegionArguments(Operation *op, const RegionForm &form, ValueRange captures);
/// Verifies the code of the region (C3 to C6).
LogicalResult verifyRegionCode(Operation *op, const RegionForm &form);

/// Drops captures that no region of `op` reads. The captures are the first operands, and the last
/// arguments of every region.
void dropUnusedCaptures(Operation *op, unsigned count);

/// Clones a verified region at the builder's insertion point, with these values for its arguments.
/// Returns the yielded value.
Value cloneRegionCode(OpBuilder &builder, Region &region, ValueRange leading, ValueRange captures);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEREGIONS_H
