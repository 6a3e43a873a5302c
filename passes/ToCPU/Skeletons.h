//===- Skeletons.h - the loops around a strip -----------------------------===//
//
//   rows own (no sums over rows)            columns own
//   item = b, hq, block of rows             item = b, hkv, one or all parts of the rows
//   (RowParts.h)
//     for strips: rows before the stream      for heads, strips: rows before the stream
//     for key blocks, in order                for key blocks, in order
//       for strips: body                        for parts with rows that see the block
//     for strips: rows after it                   zero the column folds
//                                                 for heads, strips: body, contractions over r
//                                                 add the part
//                                               columns after the stream, if the item has all parts
//                                             for heads, strips: rows after it
//
// The mask is tested once per strip and block: outside it, nothing runs; wholly inside, the code
// without a mask; else the code with it, its key loops bounded by what any row keeps. A mask that
// is scalar code has states of blocks, which say the same of it.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_SKELETONS_H
#define PE_PASSES_TOCPU_SKELETONS_H

#include "passes/ToCPU/RowState.h"
#include "passes/ToCPU/StripPairs.h"

namespace mlir::tile::cpu {

/// Fails with the reason in `why` if the stage around the stream is not supported here.
LogicalResult checkStage(StageOp stage, std::string &why);

/// Replaces a stage with a stream by a function and a launch.
void lowerRowsOuter(StageOp stage, const CpuSchedule &cpu, const StripSchedule &schedule);
void lowerColumnsOuter(StageOp stage, const CpuSchedule &cpu, const StripSchedule &schedule);

/// What both skeletons share.
class Skeleton {
protected:
  Skeleton(StageOp stage, const CpuSchedule &cpu, const StripSchedule &schedule,
           const RowInterface &interface, StageFunction &function)
      : context(stage, cpu, function), e(context.e), schedule(schedule), interface(interface),
        values(context), strips(context, schedule, values), data(context) {}

  /// Emits `body` for the strip against the block twice: for when they lie wholly inside the mask,
  /// and for when they do in part. Outside it nothing runs.
  using StripBody = llvm::function_ref<void(const StripPlace &)>;
  void visitStrip(StripPlace place, StripBody body);
  Value isFull(const StripPlace &place);
  void visitPairs(StripPlace place, StripBody body, Value isEverywhere);
  /// Emits `body`, or `skipped` where the stream's bound lets the strip skip the block.
  /// `carryAt` is where the carry of a row of the strip is.
  void unlessStopped(const StripPlace &place, llvm::function_ref<Index(int64_t)> carryAt,
                     Value carryMemory, llvm::function_ref<void()> body,
                     llvm::function_ref<void()> skipped);
  void storeSkippedSnapshots(const StripPlace &place);
  /// Blocks of keys that `keys` touches, in the stream's order.
  void eachBlock(const Interval<Index> &keys, llvm::function_ref<void(Index)> body);
  Index rowsOfStrip(const Index &row) { return minOf(context.cpu.stripRows(), context.rows - row); }

  StageContext context;
  Emitter &e;
  const StripSchedule &schedule;
  const RowInterface &interface;
  StripValues values;
  StripEmitter strips;
  StripPairs data; // what limits the stage's pairs beside the band
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_SKELETONS_H
