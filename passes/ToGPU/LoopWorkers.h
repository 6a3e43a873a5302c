//===- LoopWorkers.h - long sums divided among threads --------------------===//
//
// A scalar loop that only adds to a few elements, such as the chain from sums per distance to the
// parameters of a bias, has no index that could be divided among threads without two of them adding
// to one element. It is divided among a fixed number of workers: worker w takes every 256th
// iteration and adds to elements of its own, and a stage behind the loop adds the workers' elements
// up in their order. The number does not depend on sizes or machine, so results do not either.
//
//   foreach [hq, r + c - 1]: sums[bucket(t), h] += ...
//   ==> foreach worker, h: for t = worker, worker + 256, ...: slots[worker, bucket(t), h] += ...
//       foreach [32, hq]:  sums[n, h] += slots[0, n, h] + slots[1, n, h] + ...
//
// Maxima and minima are divided alike; their slots begin at minus or plus infinity, which a stage
// in front of the loop writes.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_LOOPWORKERS_H
#define PE_PASSES_TOGPU_LOOPWORKERS_H

#include "dialect/Tile/Tile.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::tile::gpu {

class LoopWorkers {
public:
  static constexpr int64_t kWorkers = 256;

  /// Nothing where the loop has enough parallel indices, changes its memory otherwise than by
  /// adding (or by one of maximum and minimum per buffer), adds to many elements, or is followed in
  /// its stage by one that reads the sums.
  static std::optional<LoopWorkers> create(StageOp stage, ForeachOp loop,
                                           const llvm::SmallBitVector &parallel);

  /// Where workers add in place of the target: [workers, extents of the target...].
  struct Slots {
    Value target, buffer;
    Reduction kind;
  };
  SmallVector<Slots> slots;
  /// The slots in place of a target.
  Value slotsOf(Value target) const;

  /// Adds the stage that writes where maxima and minima begin, in front of `stage`, if there are
  /// any.
  static void addBeginStage(StageOp stage, StringRef suffix, ArrayRef<Slots> slots);
  /// Adds the stage that adds the workers' sums to their targets, behind `stage`.
  static void addSumStage(StageOp stage, StringRef suffix, ArrayRef<Slots> slots);
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_LOOPWORKERS_H
