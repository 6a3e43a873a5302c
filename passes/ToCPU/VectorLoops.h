//===- VectorLoops.h - vectorized loops of scalar stages ------------------===//
//
// The last index of a `tile.foreach` often enumerates consecutive elements in memory, such as the
// dimensions of tokens or the distances of a table. If the body accesses these buffers only at that
// index, one iteration of the emitted loop computes `lanes` of its values:
//
//   tile.foreach over ["r", "model"] {                  scf.for %r ...
//   ^bb0(%r: index, %d: index):                           scf.for %d = 0 to whole step 16
//     %s = scf.for %b = 0 to batch iter_args(%sum) {        %v = scf.for %b ... iter_args(%sums)
//       %x = tile.read %tokens[%b, %r, %d]         ==>         vector.load %tokens[%b, %r, %d]
//       ... arith.addf %sum, %x                                ... arith.addf : vector<16xf64>
//     }                                                     vector.store %v, %table[%r, %d]
//     tile.write %s, %table[%r, %d]                       scf.for %d = whole to model  (one by one)
//
// LLVM vectorizes only innermost loops, so it does not vectorize the sum above. Reads at other
// indices are gathers. Elements are bitwise equal in vectors and in the remainder, because both
// compute functions in the same way (MathFunctions.h). A sum over the lanes (`tile.accumulate` at
// indices that do not depend on the lane) is added in a different order, which depends only on the
// extents.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_VECTORLOOPS_H
#define PE_PASSES_TOCPU_VECTORLOOPS_H

#include "passes/ToLoops/StageFunction.h"

namespace mlir::tile::cpu {

/// Emits `loop` at the builder's insertion point for the indices `item` of its stage, if its body
/// has a vector form. Otherwise emits nothing and returns false.
bool emitVectorLoop(OpBuilder &builder, ForeachOp loop, ArrayRef<Value> item,
                    const StageFunction &function, int64_t lanes);

/// Emits `loop`, the only one of a stage with one extent, for the items in [first, end). Each
/// vector of entries is computed for all items before the next one, so that LLVM hoists code that
/// is the same for all of them.
bool emitVectorLoopOfItems(OpBuilder &builder, ForeachOp loop, Value first, Value end,
                           const StageFunction &function, int64_t lanes);

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_VECTORLOOPS_H
