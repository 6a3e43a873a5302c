//===- Windows.h - vectors of the distance on fragments ---------*- C++ -*-===//
#ifndef PE_PASSES_TOGPU_WINDOWS_H
#define PE_PASSES_TOGPU_WINDOWS_H

#include "dialect/Math/DistanceLayout.h"
#include "passes/ToGPU/Emitters.h"
#include "passes/ToGPU/Fragments.h"

namespace mlir::tile::gpu {

/// The rows and columns of a step.
inline ::pe::math::DistanceBlock distanceBlockOf(const FragmentKernel &k) {
  const int64_t owners = k.schedule.ownerBlock(), inners = k.schedule.innerBlock;
  return k.rowsOwn ? ::pe::math::DistanceBlock{owners, inners}
                   : ::pe::math::DistanceBlock{inners, owners};
}

/// Entry of a table of distances that is the first one of a step's block.
Num firstEntryOf(const FragmentKernel &k, const Num &innerBase);

/// Contractions whose left-hand side are pairs in shared memory, by rows and numbers of distances.
class DistanceReader : protected FragmentReader {
protected:
  DistanceReader(Step &step, Type element)
      : FragmentReader(step.k, element), here(step), block(distanceBlockOf(step.k)) {}

  /// The pair of a row and column of the block, or zero where there is no such column; it is at
  /// most 16 columns away unless `isFar`.
  Value pairAt(const Panel &pairs, const Num &row, Num column, bool isFar = false);
  /// A left-hand fragment whose register i is made of the elements at (place i mod 2 of two eights,
  /// number of the contraction).
  SmallVector<Value> fragmentOf(llvm::function_ref<Value(int half, int64_t k)> elementAt);

  Step &here;
  const ::pe::math::DistanceBlock block;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_WINDOWS_H
