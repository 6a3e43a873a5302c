//===- Windows.h - vectors of the distance on fragments ---------*- C++ -*-===//
#ifndef PE_PASSES_TOGPU_WINDOWS_H
#define PE_PASSES_TOGPU_WINDOWS_H

#include "dialect/Math/DistanceLayout.h"
#include "passes/ToGPU/Emitters.h"
#include "passes/ToGPU/Fragments.h"

namespace mlir::tile::gpu {

/// Returns the block of rows and columns of a step.
inline ::pe::math::DistanceBlock distanceBlockOf(const FragmentKernel &k) {
  const int64_t owners = k.schedule.ownerBlock(), inners = k.schedule.innerBlock;
  return k.rowsOwn ? ::pe::math::DistanceBlock{owners, inners}
                   : ::pe::math::DistanceBlock{inners, owners};
}

/// Returns the entry of a table of distances that is the first in a step's block.
Num firstEntryOf(const FragmentKernel &k, const Num &innerBase);

/// Returns the registers of `emit`, or `others` (of f32) if the step's rows and columns only have
/// distances that `op` leaves out by its attribute `within`.
template <typename Op>
Registers emitWithin(Step &step, Op op, Registers others, llvm::function_ref<Registers()> emit) {
  if (!op.getLow())
    return emit();
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const ::pe::math::DistanceBlock block = distanceBlockOf(k);
  const Num &inner = step.at.base;
  const Num row = k.rowsOwn ? k.item.ownerBase : inner,
            column = k.rowsOwn ? inner : k.item.ownerBase;
  // The distance of the first row and column.
  const Num first = row + k.mask.rowStart - column - k.mask.columnStart;
  Value meets = b.both(b.less(first, Num(op.getHighAttr().getInt() + block.columns)),
                       b.less(Num(op.getLowAttr().getInt() - block.rows), first));
  return b.ifElse(meets, SmallVector<Type>(others.size(), b.f32()), emit, [&] { return others; });
}

/// Reads the left-hand sides of contractions from pairs in shared memory, by row and distance
/// index.
class DistanceReader : protected FragmentReader {
protected:
  DistanceReader(Step &step, Type element)
      : FragmentReader(step.k, element), here(step), block(distanceBlockOf(step.k)) {}

  /// Returns the pair of a row and column of the block, or zero if there is no such column. The
  /// column is at most 16 outside of the block unless `isFar`.
  Value pairAt(const Panel &pairs, const Num &row, Num column, bool isFar = false);
  /// Returns a left-hand fragment whose register i consists of elements at (half i mod 2, index of
  /// the contraction).
  SmallVector<Value> fragmentOf(llvm::function_ref<Value(int half, int64_t k)> elementAt);

  Step &here;
  const ::pe::math::DistanceBlock block;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_WINDOWS_H
