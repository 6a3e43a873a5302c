//===- Sums.h - sums over pairs, other than a stream's folds --------------===//
//
// The sums of `tile.accumulate`, `tile.window_grad` and `tile.segments_grad`, which are bitwise
// equal in every run:
//
//   per head        a CTA sums in shared memory, one copy per warp; at the end of a head it stores
//                   its sum in its own slot
//   per distance    a lane sums its part of a diagonal in registers and stores it in a table of its
//                   warp, [diagonal][8], with one entry for each of the eight lanes that share the
//                   diagonal; a thread adds up the diagonal over all warps. A CTA meets a
//                   diagonal in few consecutive blocks, so each block completes the sums of as many
//                   diagonals as a block is wide; the CTA stores them in the table of its slot. If
//                   there are more CTAs than slots, those of one slot add in the order of their
//                   items: a CTA waits at the first step of a head until the others have had their
//                   last
//
// `pe-split-sums` has created the slots, and the loops that add them up. Both kinds of sums use
// memory linear in the length. If a stage scans along the keys, the keys of a lane are not adjacent
// to those of other lanes, and pairs pass through shared memory unchanged.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_SUMS_H
#define PE_PASSES_TOGPU_SUMS_H

#include "passes/ToGPU/DiagonalUnits.h"

namespace mlir::tile::gpu {

/// The sums of a kernel over pairs.
class PairSums {
public:
  /// Adds the tickets of the slots of sums per distance to the plan.
  PairSums(StageOp stage, const GpuSchedule &schedule);

  ArrayRef<Value> getTickets() const { return tickets; }
  bool hasTurns() const { return !diagonals.empty(); }
  bool isEmpty() const { return heads.empty() && diagonals.empty(); }

  /// Allocates shared memory, before the loop.
  void declare(FragmentKernel &k);
  /// Sets the sums to zero at the first step of a head.
  void beginStep(Step &step);
  /// Adds the sums of `values` over the lanes of the warp to the elements of `target` ([b, hq,
  /// ...]) from `first` on.
  void addToHead(FragmentKernel &k, Value target, const Num &first, Registers values);
  /// Return the number of the sums of a lane along diagonals, and that of the sum to which a pair
  /// belongs. Pairs of permuted blocks are added up in memory: each is a sum.
  int64_t lineSums(FragmentKernel &k) const;
  int64_t sumOfPair(FragmentKernel &k, int64_t pair) const;
  /// Adds the lane's sums along the diagonals of the block to `target` ([b, hq, t]). `value` is the
  /// value of the pairs, if they are sums.
  void addDiagonals(Step &step, Value target, const Registers &sums, Value value = {});
  /// Replaces the sums of a step whose block has no pairs, and takes its turns.
  void leaveOut(Step &step);
  /// Stores the sums of a head in their slots at its last step.
  void endStep(Step &step);

private:
  struct HeadSum {
    Value slots;
    int64_t count;      // elements per head
    int64_t offset = 0; // in shared memory, one copy per warp
  };
  struct Diagonal {
    Value slots, tickets;
    DiagonalUnits units;
    Num slotCount, slot; // of this CTA
    int64_t carry = 0;   // in shared memory, two copies: the sums that the next block completes
    int64_t skewed = 0;  // the tables of the warps
  };
  /// Returns element `index` of the sums left by the previous block (`copy` 0) or by this one (1).
  Value carryAt(Step &step, const Diagonal &diagonal, int64_t copy, const Num &index);
  ::pe::math::SkewedTable table() const {
    return {schedule.warps, schedule.ownerTiles, schedule.innerBlock};
  }
  /// Adds the sums left by the previous block to the block's own (null: no pairs), adds complete
  /// sums to the CTA's slot, and keeps the others for the next block.
  void passOn(Step &step, const Diagonal &diagonal,
              llvm::function_ref<Value(const Num &apart)> sumOfBlock);
  void writeSkewed(FragmentKernel &k, const Diagonal &diagonal, const Registers &sums);
  Value sumOfSkewed(FragmentKernel &k, const Diagonal &diagonal, const Num &apart);
  Value sumOfPanel(FragmentKernel &k, const Panel &pairs, const Num &apart);
  /// Returns inner - owner, each relative to its block, of the n-th diagonal that a block meets, in
  /// the order in which blocks complete them.
  Num apartOf(const Diagonal &diagonal, const Num &n) const;
  Value carriedAt(Step &step, const Diagonal &diagonal, int64_t copy, const Num &index,
                  int64_t limit);
  /// Stores the sums of the step's diagonals.
  void store(Step &step, const Diagonal &diagonal, ArrayRef<std::pair<Num, Value>> mine);
  void addToSlot(Step &step, const Diagonal &diagonal, const Num &unit, Value value);
  Value isLater(FragmentKernel &k, const Diagonal &diagonal) const;
  Turn slotTurnOf(Step &step, const Diagonal &diagonal) const;

  const GpuSchedule schedule;
  bool rows;
  SmallVector<HeadSum> heads;
  SmallVector<Diagonal> diagonals;
  SmallVector<Value> tickets;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_SUMS_H
