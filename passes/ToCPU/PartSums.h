//===- PartSums.h - adds the parts of a stage's sums ----------------------===//
//
// Emits the ops after the stream for the keys of a block, once their sums over all rows are
// complete, and the launch that adds the sums of parts that are separate work items (RowParts.h).
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_PARTSUMS_H
#define PE_PASSES_TOCPU_PARTSUMS_H

#include "passes/ToCPU/RowParts.h"
#include "passes/ToCPU/RowState.h"

namespace mlir::tile::cpu {

/// Emits the ops after the stream on values over c.
class ColumnResults {
public:
  ColumnResults(StageContext &context, StripValues &values, const RowInterface &interface,
                const PartBuffers &buffers)
      : context(context), values(values), interface(interface), buffers(buffers) {}

  /// Returns the sum over all rows for one key of the block, `width` depths from `d`, widened to
  /// the target's lanes.
  using SumFn = llvm::function_ref<Value(const PartBuffers::Columns &, const Index &key,
                                         const Index &d, int64_t width)>;
  /// Stores the results of the keys of one block.
  void emit(const StripPlace &head, const Index &block, SumFn sum);

private:
  void emitStore(StoreOp store, const StripPlace &place, const Index &count, SumFn sum);
  Value columnAt(Value value, const Index &key, const Index &d, int64_t width, SumFn sum);

  StageContext &context;
  StripValues &values;
  const RowInterface &interface;
  const PartBuffers &buffers;
};

/// Emits the function that adds the parts, and its launch after the launch of the stage.
void emitPartSums(StageOp stage, const CpuSchedule &cpu, const RowInterface &interface,
                  const PartSizes &sizes, const PartBuffers &buffers);

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_PARTSUMS_H
