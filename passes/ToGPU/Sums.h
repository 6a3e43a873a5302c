//===- Sums.h - sums over pairs, other than a stream's folds --------------===//
//
// What `tile.accumulate`, `tile.window_grad` and `tile.segments_grad` add up, the same to the bit
// in every run:
//
//   per head        a CTA sums in shared memory, one copy per warp; at the end of a head it writes
//                   its sum to a slot of its own, and a loop behind the kernel adds the slots
//   per distance    a lane adds up what it has of a diagonal in registers and writes it to a table
//   of
//                   its warp, [diagonal][8], where the eight neighbours stand that share it; a
//                   thread adds up the diagonal over all warps. A CTA meets a diagonal in few
//                   neighbouring blocks, so after each block the sums of one block's worth of
//                   diagonals are complete; CTAs add them, in the order in which they started, to
//                   one of kSlots copies of the table
//
// Both keep memory linear in the length. Where a stage scans along the keys a lane's keys are not
// those of its neighbours, and pairs go through shared memory as they are.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_SUMS_H
#define PE_PASSES_TOGPU_SUMS_H

#include "passes/ToGPU/DiagonalUnits.h"

namespace mlir::tile::gpu {

class PairSums {
public:
  static constexpr int64_t kSlots = 16;

  /// Adds the slots to the plan and, behind the stage, the loops that add them up.
  PairSums(StageOp stage, const GpuSchedule &schedule);

  ArrayRef<Value> getBuffers() const { return buffers; }
  bool hasTurns() const { return !diagonals.empty(); }
  bool isEmpty() const { return heads.empty() && diagonals.empty(); }

  /// Shared memory, before the loop.
  void declare(FragmentKernel &k);
  /// At the first step of a head the sums start at zero.
  void beginStep(Step &step);
  /// Adds `value`, the same in all lanes of the warp, to element `index` of `target` ([b, hq,
  /// ...]).
  void addToHead(FragmentKernel &k, Value target, const Num &index, Value value);
  /// Adds the block of pairs along its diagonals to `target` ([b, hq, t]). `value`, where there is
  /// one, is what holds the pairs.
  void addDiagonals(Step &step, Value target, const Registers &pairs, Value value = {});
  /// A block without pairs in place of all that adds to sums; its turns are taken.
  void leaveOut(Step &step);
  /// At the last step of a head its sums go to their slots.
  void endStep(Step &step);

private:
  struct HeadSum {
    Value target, slots;
    int64_t count = 1;  // elements per head
    int64_t offset = 0; // in shared memory, one copy per warp
  };
  struct Diagonal {
    Value target, slots, tickets;
    int64_t carry = 0;  // in shared memory, two copies: what the next block completes
    int64_t skewed = 0; // the tables of the warps
  };
  Value makeBuffer(const Twine &name, ArrayRef<std::string> extents, Type element);
  /// Element `index` of what the block before has left (0), or of what this one leaves (1).
  Value carryAt(Step &step, const Diagonal &diagonal, int64_t copy, const Num &index);
  ::pe::math::SkewedTable table() const { return {schedule.ownerTiles, schedule.innerBlock}; }
  /// Adds what the block before has left to the block's own sums (null: none), passes on what is
  /// complete and keeps the rest for the next block.
  void passOn(Step &step, const Diagonal &diagonal,
              llvm::function_ref<Value(const Num &apart)> sumOfBlock);
  void writeSkewed(FragmentKernel &k, const Diagonal &diagonal, const Registers &pairs);
  Value sumOfSkewed(FragmentKernel &k, const Diagonal &diagonal, const Num &apart);
  Value sumOfPanel(FragmentKernel &k, const Panel &pairs, const Num &apart);
  /// Of a diagonal whose number is `n` among those that a block meets, in the order in which blocks
  /// complete them: the distance of the inner from the owner side, each counted in its block.
  Num apartOf(const Num &n) const;
  Turn turnOf(Step &step, const Diagonal &diagonal, const Num &unit, Value value);

  StageOp stage;
  const GpuSchedule schedule;
  bool rows;
  DiagonalUnits units;
  SmallVector<HeadSum> heads;
  SmallVector<Diagonal> diagonals;
  SmallVector<Value> buffers;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_SUMS_H
