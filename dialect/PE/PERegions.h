//===- PERegions.h - Regions of scalar code -------------------*- C++ -*-===//
//
// What pe.bias_fn, pe.score_fn, pe.mask_fn, pe.factor_fn, pe.sink_fn, pe.embedding_fn and
// pe.rotation_fn share: captured tensors, a region over one pair, one element of a token or one
// pair of dims, or a formula that stands for it, and what scalar code may hold.
//
//===----------------------------------------------------------------------===//
#ifndef PE_DIALECT_PE_PEREGIONS_H
#define PE_DIALECT_PE_PEREGIONS_H

#include "mlir/IR/OpImplementation.h"

namespace mlir::pe {

/// The form of such an operation.
struct RegionForm {
  StringRef op; ///< its name without the dialect, as in labels: bias_fn-C1
  /// The region's leading arguments: a pair of tokens (b, h, i, j), its score before it (s), or a
  /// dimension of one token (p, d, dim, n), or of the vector of a pair (b, h, i, j, d, dim), or a
  /// query (b, h, i), or a pair of dims of a head (h, p, n).
  enum class Point { Pair, Score, Token, Content, Row, Dims } point;
  /// It yields whether a pair is kept, not a number.
  bool isMask = false;
  /// It may hold pe.dropout_factor.
  bool drawsChance = false;

  ArrayRef<StringRef> names() const;
  Type typeOf(MLIRContext *context, unsigned argument) const;
  /// Whether real numbers of a formula are f64. The region may then yield one.
  bool isWide() const { return point == Point::Dims; }
  /// What to write where the code gives a number for a condition, or a condition for a number.
  StringRef adviceOnResult() const;
};

/// The type of a region's argument for a capture: a coordinate is a number, tensors are read.
Type typeInRegion(Type capture);

/// (captures : types)? attributes? ({region} | expr "formula"), without the result's type.
/// `parseClauses` and `printClauses` handle what follows the captures.
ParseResult parseScalarRegion(OpAsmParser &parser, OperationState &result, const RegionForm &form,
                              llvm::function_ref<ParseResult()> parseClauses = {});
void printScalarRegion(OpAsmPrinter &printer, Operation *op);
void printScalarRegion(OpAsmPrinter &printer, Operation *op, OperandRange captures,
                       llvm::function_ref<void()> printClauses);
/// Checks that `op` is scalar code: an operation of the table (dialect/Math/ScalarOps.h) or one of
/// pe's own, on single numbers (C4 to C6 of `label`).
LogicalResult verifyScalarOp(Operation &op, StringRef label = "bias_fn");
/// C1 and C2: the region's arguments.
LogicalResult verifyRegionArguments(Operation *op, const RegionForm &form);
/// The same where other operands follow the captures.
LogicalResult verifyRegionArguments(Operation *op, const RegionForm &form, ValueRange captures);
/// C3 to C6: its code.
LogicalResult verifyRegionCode(Operation *op, const RegionForm &form);

/// Clones a verified region to the builder's place, with these values for its arguments;
/// returns what it yields.
Value cloneRegionCode(OpBuilder &builder, Region &region, ValueRange leading, ValueRange captures);

} // namespace mlir::pe

#endif // PE_DIALECT_PE_PEREGIONS_H
