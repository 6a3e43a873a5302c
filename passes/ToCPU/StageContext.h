//===- StageContext.h - what code of a stage needs to know ----------------===//
//
// The function being emitted, the sizes of the call as indices, the
// stage's mask as intervals, and where buffers are. Buffers are
// one-dimensional here: an element's place is computed from the names of
// the extents, so that a kernel's inner loop sees a base and a row pitch.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_STAGECONTEXT_H
#define PE_PASSES_TOCPU_STAGECONTEXT_H

#include "dialect/Math/KeptPairs.h"
#include "dialect/Tile/Place.h"
#include "passes/Schedule/CpuSchedule.h"
#include "passes/ToCPU/Emitter.h"
#include "passes/ToLoops/StageFunction.h"

namespace mlir::tile::cpu {

using Mask = KeptPairs<Index>;

using Place = PlaceOf<Index>;

class StageContext {
public:
  StageContext(StageOp stage, const CpuSchedule &cpu, StageFunction &function);

  Emitter e;
  StageOp stage;
  StreamOp stream;
  const CpuSchedule cpu;
  StageFunction &function;

  Index batch, queryHeads, keyHeads, rows, columns, rowStart, columnStart;
  int64_t headDim, valueDim;
  Mask mask;

  int64_t depthOf(const SpaceSet &spaces) const { return spaces.has("d") ? headDim : valueDim; }
  /// The buffer as memref<?xT>.
  Value memory(Value buffer);
  /// Offset of the element at `place`, with d and e at zero.
  Index offset(Value buffer, const Place &place);
  /// From here on, accesses to `buffer` go to it where `number` is 0, else to copy `number` - 1 of
  /// it in `copies`, whose extents are the number of copies followed by those of the buffer.
  void useCopy(Value buffer, Value copies, const Index &number);
  /// Elements from one row of the buffer to the next.
  Index pitch(Value buffer);
  Value emitSize(StringRef expression) { return function.emitSize(e, e.getLoc(), expression); }

private:
  llvm::DenseMap<Value, Value> memories;
  llvm::DenseMap<Value, Index> firsts; // where the buffer begins in its memory, if not at 0
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_STAGECONTEXT_H
