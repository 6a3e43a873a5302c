//===- Placement.h - positions that are data, in scalar code ----*- C++ -*-===//
//
// The helpers of pe-place-positions (PlacePositions.cpp) for one block of scalar code, for a term
// and for a mask. A block's row and column become positions wherever it computes with them. Data of
// tokens is still read at the row and the column.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_TRANSFORMS_PLACEMENT_H
#define PE_PASSES_TRANSFORMS_PLACEMENT_H

#include "dialect/PE/PEAttention.h"
#include "dialect/PE/PETerms.h"

namespace mlir::pe {

/// The two tensors that positions are computed from, over queries and over keys.
struct Placement {
  bool restarts = false; ///< otherwise positions are given
  Value queries, keys;

  /// Returns the position of a row or a column, read from `tensor`, the tensor of its side.
  Value at(OpBuilder &builder, Location loc, Value batch, Value place, Value tensor) const;
  /// Returns the position of a column, given the beginning of the document that contains its row.
  static Value after(OpBuilder &builder, Location loc, Value place, Value tensor, Value row);
};

/// The arguments of a block: its point of evaluation and its captures. Row and column are null if
/// the code does not have them.
struct CodeBlock {
  Block &block;
  Value batch, row, column;
  ValueRange captures;          ///< outside the region
  Value queryTensor, keyTensor; ///< the block's arguments for the placement's tensors
};

/// Writes positions into one block. Fails with an error if its reads or sums do not support them.
LogicalResult placeBlock(const CodeBlock &code, const Placement &placement);

/// Adds the placement's tensors to the captures of an op with one region, whose block begins with
/// `first` arguments before b, h, i and, with columns, j, and writes the positions into it.
LogicalResult placeRegion(Operation *op, unsigned first, const Placement &placement,
                          bool hasColumn = true);

/// Returns the term with its positions, which may be a new op.
FailureOr<TermOp> placeTerm(TermOp term, const Placement &placement);

/// Returns the mask of an attention with its documents and, unless `placement` is null, its
/// positions written into it; null after an error.
Value placeMask(AttentionOp attention, const Placement *placement);

/// Reads an element of an i32 tensor as an index.
Value readNumber(OpBuilder &builder, Location loc, Value tensor, ValueRange indices);

} // namespace mlir::pe

#endif // PE_PASSES_TRANSFORMS_PLACEMENT_H
