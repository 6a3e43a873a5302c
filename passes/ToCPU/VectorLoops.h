//===- VectorLoops.h - loops of scalar stages on vectors ------------------===//
//
// The last index of a `tile.foreach` often runs along neighbours in memory: the dimensions of
// tokens, the distances of a table. Where the body touches nothing else of them, one iteration of
// the emitted loop computes `lanes` of its values:
//
//   tile.foreach over ["r", "model"] {                  scf.for %r ...
//   ^bb0(%r: index, %d: index):                           scf.for %d = 0 to whole step 16
//     %s = scf.for %b = 0 to batch iter_args(%sum) {        %v = scf.for %b ... iter_args(%sums)
//       %x = tile.read %tokens[%b, %r, %d]         ==>         vector.load %tokens[%b, %r, %d]
//       ... arith.addf %sum, %x                                ... arith.addf : vector<16xf64>
//     }                                                     vector.store %v, %table[%r, %d]
//     tile.write %s, %table[%r, %d]                       scf.for %d = whole to model  (one by one)
//
// LLVM vectorises innermost loops only, which the sum above hides from it. An element gets the same
// bits either way; a sum over the lanes (`tile.accumulate` at a place that does not depend on the
// index) is added up in another order, which depends on the extents alone.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_VECTORLOOPS_H
#define PE_PASSES_TOCPU_VECTORLOOPS_H

#include "passes/ToLoops/StageFunction.h"

namespace mlir::tile::cpu {

/// Emits `loop` at the builder's place, its stage's indices given, if its body has a vector form;
/// otherwise emits nothing and returns false.
bool emitVectorLoop(OpBuilder &builder, ForeachOp loop, ArrayRef<Value> item,
                    const StageFunction &function, int64_t lanes);

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_VECTORLOOPS_H
