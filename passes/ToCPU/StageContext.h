//===- StageContext.h - the state of a stage's code emission --------------===//
//
// Holds the function being emitted, the sizes of the call as indices, the stage's mask as
// intervals, and the buffers. Buffers are one-dimensional here: the offset of an element follows
// from the names of the extents, so that the inner loop of a kernel uses a base and a row pitch.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_STAGECONTEXT_H
#define PE_PASSES_TOCPU_STAGECONTEXT_H

#include "dialect/Math/KeptPairs.h"
#include "dialect/Step/CpuSchedule.h"
#include "dialect/Tile/Place.h"
#include "passes/ToCPU/Emitter.h"
#include "passes/ToLoops/StageFunction.h"

namespace mlir::tile::cpu {

using Mask = KeptPairs<Index>;

using Place = PlaceOf<Index>;

/// The rows of a panel of keys in memory, `pitch` elements apart.
struct KeyPanel {
  Value memory;
  Index at, pitch;
};

/// The function, sizes, mask and buffers of a stage.
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
  /// Returns the buffer as memref<?xT>.
  Value memory(Value buffer);
  /// Returns the offset of the element at `place`, with d and e at zero.
  Index offset(Value buffer, const Place &place);
  /// Redirects later accesses to `buffer` to copy `number` - 1 in `copies`, unless `number` is 0.
  /// The extents of `copies` are the number of copies followed by those of the buffer.
  void useCopy(Value buffer, Value copies, const Index &number);
  /// Returns the distance between consecutive rows of the buffer, in elements.
  Index pitch(Value buffer);
  /// Copies the block of keys at `place.c` of every panel of a key head that is stored in 16 bits
  /// or in pages to scratch memory, in f32, where `keyPanel` finds it. A block is copied once for
  /// all strips.
  void packKeys(const Place &place);
  /// Makes `keyPanel` find panels in memory again.
  void forgetPacked() { packed.clear(); }
  /// Returns true if `packKeys` copies a panel.
  bool hasPackedKeys();
  /// Returns true if a panel of a key head is stored in pages, so that `keyPanel` finds no block
  /// that is not packed.
  bool hasPagedKeys();
  /// Returns the rows of a panel of keys, from column `place.c` on.
  KeyPanel keyPanel(Value panel, const Place &place);
  Value emitSize(StringRef expression) { return function.emitSize(e, e.getLoc(), expression); }

private:
  KeyPanel pack(Value panel, const Place &place);
  KeyPanel packPages(Value panel, const Place &place);
  void extendRows(const KeyPanel &from, const KeyPanel &into, const Index &count, int64_t depth);

  llvm::DenseMap<Value, Value> memories;
  /// The packed block of each panel, and its first column.
  llvm::DenseMap<Value, std::pair<KeyPanel, Index>> packed;
  llvm::DenseMap<Value, Index> firsts; // offset of the buffer in its memory, if not 0
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_STAGECONTEXT_H
