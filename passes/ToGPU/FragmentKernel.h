//===- FragmentKernel.h - a stage with a stream as matrix fragments -------===//
//
// The tile program is lowered op by op; what changes from the definition is where values live. One
// side of the pair space is the owner (rows, or columns), the other is inner. Pairs, vectors and
// sums of panels lie in registers (dialect/Math/FragmentLayout.h says where), loaded panels in
// shared memory (dialect/Math/PanelLayout.h).
//
// A contraction over depth or inner takes its right-hand side from shared memory; one over owners
// passes its left-hand side through shared memory, transposed, because owners are divided among the
// warps. Where the stage scans along the keys, the inner block is permuted so that a lane holds
// neighbouring keys (`isPermuted`): the scan is then 16 steps in registers and one in the quad.
//
// A FragmentKernel is what holds for the whole kernel: all of it is set when it is made, but for
// the shared memory, which grows. What the code at one place knows is in its Scope (Step.h).
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_FRAGMENTKERNEL_H
#define PE_PASSES_TOGPU_FRAGMENTKERNEL_H

#include "dialect/Math/FragmentLayout.h"
#include "dialect/Math/KeptPairs.h"
#include "passes/Schedule/GpuSchedule.h"
#include "passes/ToGPU/SharedMemory.h"

namespace mlir::tile::gpu {

/// The pairs that exist and that the mask keeps, in the kernel's blocks, and the positions of row
/// and column 0.
struct CallPairs : KeptPairs<Num> {
  Num rowStart, columnStart;
};

/// What a CTA works on: an owner block of a query head where rows own, else of a key head.
struct WorkItem {
  Num ownerBlocks;           // of a head
  Num ownerBlock, ownerBase; // number, first owner
  Num group;                 // query heads of a key head
  Num batch, keyHead;
  std::optional<Num> queryHead; // where rows own
};

using Element = ::pe::math::FragmentElement;

class PairSums;

class FragmentKernel {
  StageOp stage; // before what is made from it
  StreamOp stream;

public:
  /// CTAs that may wait for one another take their items from `itemCounter`.
  FragmentKernel(StageOp stage, const GpuSchedule &schedule, KernelFunction &function,
                 PairSums &sums, Value itemCounter);

  //===- What is lowered ---------------------------------------------------------===//
  StageOp getStage() const { return stage; }
  StreamOp getStream() const { return stream; }
  const GpuSchedule schedule;
  KernelFunction &fn;
  KernelBuilder &b;
  const bool rowsOwn;
  const bool isPermuted;
  const ::pe::math::FragmentLayout layout;
  PairSums &sums;
  SharedMemory shared;

  //===- Geometry ------------------------------------------------------------------===//
  int64_t depthOf(const SpaceSet &s) const { return s.has("d") ? fn.headDim : fn.valueDim; }
  bool isOwnerSide(const SpaceSet &s) const { return rowsOwn ? hasRows(s) : hasColumns(s); }
  bool isInnerSide(const SpaceSet &s) const {
    return !isPair(s) && !s.isEmpty() && !isOwnerSide(s);
  }
  ::pe::math::FragmentKind kindOf(const SpaceSet &s) const;
  /// Registers of a value, and where each lies.
  int64_t registersOf(const SpaceSet &s) const { return layout.registersOf(kindOf(s), depthOf(s)); }
  Element elementAt(const SpaceSet &s, int64_t index) const {
    return layout.elementAt(kindOf(s), index, depthOf(s));
  }
  int64_t indexOf(const SpaceSet &s, const Element &at) const {
    return layout.indexOf(kindOf(s), at, depthOf(s));
  }

  //===- Where this thread is --------------------------------------------------------===//
  const Num thread, lane, warp, g, t;
  const Num rows, columns;
  const CallPairs mask;
  const WorkItem item;
  const Interval<Num> reach; // columns that some row takes, by the bounds of all rows

  /// The owner within the call, and the tile of depths of an inner panel that is summed up, of an
  /// element.
  Num ownerAt(const Element &at) const { return layout.ownerAt(item.ownerBase, warp, g, at); }
  Num foldedDepthTile(const Element &at, const SpaceSet &s) const {
    return layout.foldedDepthTile(warp, at, depthOf(s));
  }
  /// How many rows, or columns, there are.
  const Num &limitOf(const SpaceSet &s) const { return hasRows(s) ? rows : columns; }
  /// The inner blocks that an owner block visits.
  Interval<Num> innerBlocksOf(const Num &owner) const {
    return rowsOwn ? mask.columnBlocksOf(owner) : mask.rowBlocksOf(owner);
  }
  /// Which turn of an inner block that visits it an owner block has, and how many there are.
  Visit<Num> visitOf(const Num &owner, const Num &inner) const {
    return rowsOwn ? mask.visitOfRowBlock(owner, inner) : mask.visitOfColumnBlock(owner, inner);
  }

private:
  CallPairs keptPairs() const;
  Interval<Num> findReach() const;
  Num takeItem(Value itemCounter);
  WorkItem decode(const Num &number) const;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_FRAGMENTKERNEL_H
