//===- FragmentKernel.h - a stage with a stream as matrix fragments -------===//
//
// The stage is lowered op by op. One side of the pairs is the owner (rows or columns), the other is
// inner. Pairs, vectors and sums of panels are in registers (layout:
// dialect/Math/FragmentLayout.h), loaded panels in shared memory (layout:
// dialect/Math/PanelLayout.h).
//
// A contraction over depth or inner reads its right-hand side from shared memory. A contraction
// over owners passes its left-hand side through shared memory, transposed, because owners are
// divided among the warps. If the stage scans along the keys, the inner block is permuted so that a
// lane holds consecutive keys (`isPermuted`): the scan is then 16 steps in registers and one in the
// quad.
//
// A FragmentKernel holds the state of the entire kernel. It is constant after construction, except
// for the allocation of shared memory. The state of the code at one point is in its Scope (Step.h).
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_FRAGMENTKERNEL_H
#define PE_PASSES_TOGPU_FRAGMENTKERNEL_H

#include "dialect/Math/FragmentLayout.h"
#include "dialect/Math/KeptPairs.h"
#include "dialect/Step/GpuSchedule.h"
#include "passes/ToGPU/SharedMemory.h"

namespace mlir::tile::gpu {

/// The pairs that exist and that the mask keeps, in the kernel's blocks, and the positions of row 0
/// and column 0.
struct CallPairs : KeptPairs<Num> {
  /// Computes the pairs that a stage keeps, in blocks of its schedule.
  CallPairs(StageOp stage, const GpuSchedule &schedule, KernelFunction &function);

  Num rowStart, columnStart;
};

/// The orders of the blocks of a head. Owner blocks with the most pairs have the lowest items,
/// because a CTA that starts late and has many steps delays the end of the grid. A CTA visits inner
/// blocks in the opposite direction, unless the stage requires an order. Owners of a causal mask
/// then begin at the same block: they share what they copy, and wait for turns only at their start.
struct BlockOrder {
  bool ownersDescend, innersDescend;
};
BlockOrder blockOrderOf(StageOp stage);

/// The work of a CTA: an owner block of a query head if rows own, otherwise of a key head.
struct WorkItem {
  Num ownerBlocks;           // of a head
  Num rank;                  // the owner blocks of the head with lower items
  Num ownerBlock, ownerBase; // its index and first owner
  Num group;                 // query heads of a key head
  Num batch, keyHead;
  std::optional<Num> queryHead; // if rows own
};

using Element = ::pe::math::FragmentElement;

class PairSums;

/// The state of a stage's kernel.
class FragmentKernel {
  StageOp stage; // declared before the members initialized from it
  StreamOp stream;

public:
  /// Creates the kernel. CTAs that may wait for each other take their items from `itemCounter`.
  FragmentKernel(StageOp stage, const GpuSchedule &schedule, KernelFunction &function,
                 PairSums &sums, Value itemCounter);

  //===- Source and schedule -----------------------------------------------------===//
  StageOp getStage() const { return stage; }
  StreamOp getStream() const { return stream; }
  const GpuSchedule schedule;
  KernelFunction &fn;
  KernelBuilder &b;
  const bool rowsOwn;
  const BlockOrder order;
  const bool isPermuted;
  const ::pe::math::FragmentLayout layout;
  PairSums &sums;
  SharedMemory shared;

  //===- Geometry ------------------------------------------------------------------===//
  int64_t depthOf(const SpaceSet &s) const {
    return sizeOfDepth(tile::depthOf(s), fn.headDim, fn.valueDim);
  }
  bool isOwnerSide(const SpaceSet &s) const { return rowsOwn ? hasRows(s) : hasColumns(s); }
  bool isInnerSide(const SpaceSet &s) const {
    return !isPair(s) && !s.isEmpty() && !isOwnerSide(s);
  }
  ::pe::math::FragmentKind kindOf(const SpaceSet &s) const;
  /// Return the number of registers of a value, and the element in register `index`.
  int64_t registersOf(const SpaceSet &s) const { return layout.registersOf(kindOf(s), depthOf(s)); }
  Element elementAt(const SpaceSet &s, int64_t index) const {
    return layout.elementAt(kindOf(s), index, depthOf(s));
  }
  int64_t indexOf(const SpaceSet &s, const Element &at) const {
    return layout.indexOf(kindOf(s), at, depthOf(s));
  }

  //===- Position of the thread ------------------------------------------------------===//
  const Num thread, lane, warp, g, t;
  const Num rows, columns;
  const CallPairs mask;
  const WorkItem item;
  const Interval<Num> reach; // columns that any row keeps, by the bounds of all rows

  /// Return, for an element, the owner within the call, and the tile of depths in an inner panel of
  /// sums.
  Num ownerAt(const Element &at) const { return layout.ownerAt(item.ownerBase, warp, g, at); }
  Num foldedDepthTile(const Element &at, const SpaceSet &s) const {
    return layout.foldedDepthTile(warp, at, depthOf(s));
  }
  /// Returns the number of rows, or of columns.
  const Num &limitOf(const SpaceSet &s) const { return hasRows(s) ? rows : columns; }
  /// Returns the inner blocks that an owner block visits.
  Interval<Num> innerBlocksOf(const Num &owner) const {
    return rowsOwn ? mask.columnBlocksOf(owner) : mask.rowBlocksOf(owner);
  }
  /// Returns the owner block of a rank.
  Num ownerBlockAt(const Num &rank) const {
    return order.ownersDescend ? item.ownerBlocks - Num(1) - rank : rank;
  }
  /// Returns the rank of an owner block among the visitors of an inner block, in the order of their
  /// items, and their number.
  Visit<Num> visitOf(const Num &owner, const Num &inner) const {
    return rowsOwn ? mask.visitOfRowBlock(owner, inner, order.ownersDescend)
                   : mask.visitOfColumnBlock(owner, inner, order.ownersDescend);
  }

  /// Emits `body` for every index in [0, count), divided among the threads, without a loop.
  void divideAmongThreads(int64_t count, llvm::function_ref<void(const Num &index)> body) const;

private:
  Interval<Num> findReach() const;
  Num takeItem(Value itemCounter);
  Num headsTogether(const Num &group) const;
  WorkItem decode(const Num &number) const;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_FRAGMENTKERNEL_H
