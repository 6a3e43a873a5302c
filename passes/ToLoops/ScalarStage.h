//===- ScalarStage.h - stages without a stream become loops ---------------===//
//
// Tables, parameter gradients, reductions of partial sums: `tile.foreach` loops with scalar
// bodies, and `tile.find_segments`. They cost O(N), so every target for the CPU lowers
// them the same way, one work item per index of the stage's `over`.
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

namespace mlir::tile {

/// Whether `lowerScalarStage` applies to `stage`: it has neither a stream nor tile values.
bool isScalarStage(StageOp stage);

struct ScalarStageOptions {
  /// So many neighbouring items of the stage are one item of its function, which then reads the
  /// call's sizes once for all of them.
  int64_t group = 1;
  /// Emits a loop in a form of the target's; false: emitted nothing, as there is none.
  llvm::function_ref<bool(OpBuilder &builder, ForeachOp loop, ArrayRef<Value> item,
                          const StageFunction &function)>
      emitLoop = nullptr;
};

/// Replaces `stage` by a function and a `tile.launch`.
LogicalResult lowerScalarStage(StageOp stage, const ScalarStageOptions &options = {});

/// The argument block of `pe_find_segments` (runtime/device/cpu/Segments.h): 64-bit words, each the
/// address of a buffer, the product of some extents, or a number. Calls one of the three for every
/// word, in their order.
void eachWordOf(FindSegmentsOp op, llvm::function_ref<void(Value buffer)> address,
                llvm::function_ref<void(ArrayRef<StringRef> extents)> product,
                llvm::function_ref<void(int64_t)> number);

} // namespace mlir::tile

#endif // PE_PASSES_TOLOOPS_SCALARSTAGE_H
