//===- Biases.h - tables, segments and random words on a strip ------------===//
//
// Emits the ops that read or update tables of a bias, for a strip of rows and a block of keys.
// Values over rc are in slots, and gradients outside the mask are already zero.
//
// Segments, tile by tile: t = u[i - j] * v[i] of a strip has a short range, so the strip is in one
// piece except for the few kinks inside the range:
//
//   value = p_first(t), then for each further piece k of the range: p_k(t) if t > knot[k]
//
// The backward pass visits the strip once for each of these pieces, and only the pairs inside it.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_BIASES_H
#define PE_PASSES_TOCPU_BIASES_H

#include "passes/ToCPU/StripMemory.h"

namespace mlir::tile::cpu {

/// Adds at(key, vector) to table[row - column + (c - 1)] over the keys of the strip.
void emitDiagonalSums(StageContext &context, const StripPlace &place, Value table,
                      llvm::function_ref<Value(Index, int64_t)> at);

/// Adds the strip's sums along diagonals to the table.
void emitWindowGrad(StageContext &context, StripValues &values, const Slots &slots,
                    WindowGradOp grad);

/// Fills the slot of a piecewise polynomial.
void emitSegments(StageContext &context, StripValues &values, const Slots &slots,
                  SegmentsOp segments);

/// Finds the pieces in which every row of a stage of few rows has the keys of a block, for the
/// segments whose factors are the same for all heads, before these heads visit the block.
void findSegmentPieces(StageContext &context, const Index &block);

/// Fills the slot of a value per row and distance.
void emitNear(StageContext &context, StripValues &values, const Slots &slots, NearOp op);
/// Stores the strip's pairs at near distances in the table.
void emitNearGrad(StageContext &context, StripValues &values, const Slots &slots, NearGradOp op);

/// Fills the slot of random factors.
void emitRandom(StageContext &context, StripValues &values, const Slots &slots, RandomOp random);

/// Adds the strip's moments, row sums and diagonal sums.
void emitSegmentsGrad(StageContext &context, StripValues &values, const Slots &slots,
                      SegmentsGradOp grad);

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_BIASES_H
