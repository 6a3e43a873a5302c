//===- Skeletons.h - the loops around strips and blocks -------------------===//
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
// The mask is tested once per strip and block. A block outside of it is skipped, and a block
// entirely inside it runs the code without a mask. Any other block runs the code with the mask,
// whose key loops are bounded by the keys that any row keeps. If the mask is scalar code, states of
// blocks provide the same test.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_SKELETONS_H
#define PE_PASSES_TOCPU_SKELETONS_H

#include "passes/ToCPU/RowState.h"
#include "passes/ToCPU/StripPairs.h"

namespace mlir::tile::cpu {

/// Fails with the reason in `why` if the ops around the stream are not supported.
LogicalResult checkStage(StageOp stage, std::string &why);
/// Fails with the reason in `why` if an op has no form with lanes along keys.
LogicalResult checkFewRows(StageOp stage, std::string &why);

/// Replaces a stage with a stream by a function and a launch.
void lowerRowsOuter(StageOp stage, const CpuSchedule &cpu, const StripSchedule &schedule);
void lowerColumnsOuter(StageOp stage, const CpuSchedule &cpu, const StripSchedule &schedule);
/// Replaces a stage of few rows (`along = keys`) over key heads, or one that merges splits.
void lowerFewRows(StageOp stage, const CpuSchedule &cpu, const StripSchedule &schedule);
void lowerMerge(StageOp stage, const CpuSchedule &cpu);

/// The code that both skeletons share.
class Skeleton {
protected:
  Skeleton(StageOp stage, const CpuSchedule &cpu, const StripSchedule &schedule,
           const RowInterface &interface, StageFunction &function)
      : context(stage, cpu, function), e(context.e), schedule(schedule), interface(interface),
        values(context), strips(context, schedule, values), data(context) {}

  /// Emits `body` for the strip against the block twice: for blocks entirely inside the mask, and
  /// for blocks partly inside it. Blocks outside of it are skipped.
  using StripBody = llvm::function_ref<void(const StripPlace &)>;
  void visitStrip(StripPlace place, StripBody body);
  /// Returns true (an i1) if all pairs of the strip and the block are inside the mask.
  Value isFull(const StripPlace &place);
  void visitPairs(StripPlace place, StripBody body, Value isEverywhere);
  /// Emits `body`, or `skipped` for strips that the stream's bound permits to skip the block.
  /// `carryAt` returns the place of the carry of a row of the strip.
  void unlessStopped(const StripPlace &place, llvm::function_ref<Index(int64_t)> carryAt,
                     Value carryMemory, llvm::function_ref<void()> body,
                     llvm::function_ref<void()> skipped);
  void storeSkippedSnapshots(const StripPlace &place);
  /// Visits the blocks of keys that `keys` touches, in the stream's order. With `packs`, panels of
  /// 16 bits are extended once per block.
  void eachBlock(const Interval<Index> &keys, llvm::function_ref<void(Index)> body,
                 bool packs = true);
  Index rowsOfStrip(const Index &row) { return minOf(context.cpu.stripRows(), context.rows - row); }

  StageContext context;
  Emitter &e;
  const StripSchedule &schedule;
  const RowInterface &interface;
  StripValues values;
  StripEmitter strips;
  StripPairs data;  // limits of the stage's pairs in addition to the band
  StripPlace start; // the heads of the item
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_SKELETONS_H
