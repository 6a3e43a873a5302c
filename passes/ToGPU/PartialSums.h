//===- PartialSums.h - sums that workers hold in parts ----------*- C++ -*-===//
//
// pe-divide-loops divides a sum among workers. A worker is a lane of a warp and adds to its own
// elements. If it has only one, the lanes of a warp add theirs as a tree to that of their group. A
// later stage adds the groups, or all workers' elements, to the target, with a warp per element.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_PARTIALSUMS_H
#define PE_PASSES_TOGPU_PARTIALSUMS_H

#include "dialect/Tile/Tile.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::tile::gpu {

/// A buffer that a loop adds to, and the buffers of partial sums that replace it.
struct Slots {
  Value target;
  Reduction kind;
  Value workers; // [groups, extents of the target..., lanes]: sums of a worker
  Value groups;  // [groups, extents of the target...]: sums of the workers of a warp, or null
};

/// Returns the extents of a buffer.
SmallVector<StringRef> extentsOf(Value buffer);

/// Adds a tile.foreach over `extents` and moves the builder to its body.
ForeachOp addLoop(OpBuilder &builder, Location loc, ArrayRef<StringRef> extents);

/// Adds a stage before `stage` that initializes maxima and minima. The plan clears sums.
void addBeginStage(StageOp stage, ArrayRef<Slots> slots);

/// The partial sums that no stage combines yet. Stages whose sums have the same target share the
/// stage that combines them, which precedes the first stage that uses the target.
class PartialSums {
public:
  /// Combines the sums that must be there when `stage`, which adds to `added`, starts.
  void finishBefore(StageOp stage, ArrayRef<Slots> added);
  void add(StageOp stage, ArrayRef<Slots> slots);
  /// Combines all sums after the last stage that adds to them.
  void finish();

private:
  struct Sum {
    StageOp stage; // the last that adds to the target
    SmallVector<Slots> parts;
  };
  using Sums = llvm::MapVector<Value, Sum>;
  static StageOp lastStageOf(const Sums &sums);
  static void combineAll(OpBuilder &builder, const Sums &sums);

  Sums pending;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_PARTIALSUMS_H
