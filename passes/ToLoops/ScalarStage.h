//===- ScalarStage.h - lowering of stages without a stream to loops -------===//
//
// Tables, parameter gradients and reductions of partial sums are `tile.foreach` loops with scalar
// bodies, or `tile.find_segments`. They cost O(N), so every CPU target lowers them the same way,
// with one work item per index of the stage's `over`.
//
//   tile.stage @table prepare over ["hq"] {         func.func @plan_table(%table, %sizes, %item) {
//     tile.foreach over ["r + c - 1"] {               scf.for %t = 0 to r + c - 1 {
//     ^bb0(%h: index, %t: index):            ==>        memref.store %x, %view[%item, %t]
//       tile.write %x, %table[%h, %t]
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOLOOPS_SCALARSTAGE_H
#define PE_PASSES_TOLOOPS_SCALARSTAGE_H

#include "passes/ToLoops/StageFunction.h"

#include <variant>

namespace mlir::tile {

/// Returns true if `stage` has neither a stream nor tile values, so that `lowerScalarStage`
/// applies.
bool isScalarStage(StageOp stage);

struct ScalarStageOptions {
  /// The number of consecutive stage items that one item of the function computes. A group reads
  /// the sizes of the call only once.
  int64_t group = 1;
  /// Emits a loop in a form specific to the target. Returns false, without emitting anything, if
  /// there is no such form.
  llvm::function_ref<bool(OpBuilder &builder, ForeachOp loop, ArrayRef<Value> item,
                          const StageFunction &function)>
      emitLoop = nullptr;
  /// Emits the only loop of a stage for the items in [first, end), or returns false.
  llvm::function_ref<bool(OpBuilder &builder, ForeachOp loop, Value first, Value end,
                          const StageFunction &function)>
      emitLoopOfItems = nullptr;
};

/// Replaces `stage` by a function and a `tile.launch`.
LogicalResult lowerScalarStage(StageOp stage, const ScalarStageOptions &options = {});

/// A 64-bit word of the arguments of find_segments: the address of a buffer, a product of extents,
/// or a number.
using SegmentsWord = std::variant<Value, SmallVector<StringRef>, int64_t>;

/// Returns the words of the argument block and its links (runtime/device/library/SegmentsCall.h).
SmallVector<SegmentsWord> getSegmentsWords(FindSegmentsOp op);

} // namespace mlir::tile

#endif // PE_PASSES_TOLOOPS_SCALARSTAGE_H
