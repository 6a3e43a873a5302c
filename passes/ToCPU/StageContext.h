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

/// The bytes per line that is read ahead. Processors often read lines in pairs, and reading ahead
/// takes time if a cache holds the keys.
constexpr int64_t kOneLine = 64, kTwoLines = 128;

/// The rows of a panel of keys in memory, `pitch` elements apart.
struct KeyPanel {
  Value memory;
  Index at, pitch;
  /// The elements from a row to the same row of the next block, if it is read ahead.
  Index ahead = 0;

  /// Starts to read the elements of the next block that correspond to those at `at`. A loop over
  /// the vectors of a row calls this for each `number`; one in `bytes` bytes has an effect.
  void readAhead(Emitter &e, const Index &at, int64_t number, int64_t bytes) const;
};

/// Returns true if the contraction adds products of pairs of bf16: both operands are bf16, its
/// panel of keys or rows is loaded, and its other operand is a panel from before the stream or a
/// value of a sweep.
bool isByPairs(const CpuSchedule &cpu, DotOp dot);

/// The function, sizes, mask and buffers of a stage.
class StageContext {
public:
  StageContext(StageOp stage, const CpuSchedule &cpu, StageFunction &function);

  Emitter e;
  StageOp stage;
  StreamOp stream;
  /// The schedule; with lanes along keys, a strip is one row, with one vector.
  const CpuSchedule cpu;
  /// The largest number of rows whose contractions share a register tile, if lanes are keys.
  const int64_t tileRows;
  /// The rows from a block of keys to the next one, if panels in memory are read ahead. Reading
  /// ahead 0 rows has no effect but takes time.
  Index rowsAhead = 0;
  StageFunction &function;

  Index batch, queryHeads, keyHeads, rows, columns, rowStart, columnStart;
  int64_t headDim, valueDim;
  Mask mask;
  /// For segments with lanes along keys: memory of the first and the last piece in the current
  /// block, per row of the call (findSegmentPieces).
  llvm::DenseMap<Operation *, Value> segmentPieces;

  int64_t depthOf(const SpaceSet &spaces) const {
    return sizeOfDepth(tile::depthOf(spaces), headDim, valueDim);
  }
  /// Returns the distance of two positions from a row of the call and a column.
  Index distanceOf(const Index &row, const Index &column) const {
    return row + rowStart - column - columnStart;
  }
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
  /// or in pages to scratch memory, where `keyPanel` finds it: in f32 or, for contractions by
  /// pairs, in bf16 and with pairs of keys side by side. A block is copied once for all strips.
  void packKeys(const Place &place);
  /// Packs `count` rows of depth `depth` into words of two rows side by side, in bf16. If the count
  /// is odd, the second row of the last word is 0.
  void packRowPairs(const KeyPanel &from, const KeyPanel &into, const Index &count, int64_t depth);
  /// Makes `keyPanel` find panels in memory again.
  void forgetPacked() { packed.clear(), paired.clear(); }
  /// Returns true if all query heads of a key head have the same panels of keys.
  bool sharesPanels();
  /// Returns true if `packKeys` copies a panel.
  bool hasPackedKeys();
  /// Returns true if a panel of a key head is stored in pages, so that `keyPanel` finds no block
  /// that is not packed.
  bool hasPagedKeys();
  /// Returns the rows of a panel of keys, from column `place.c` on.
  KeyPanel keyPanel(Value panel, const Place &place);
  /// Returns the rows of pairs of keys of a panel that `packKeys` packed: words of two bf16.
  KeyPanel keyPairs(Value panel) const { return paired.lookup(panel); }
  Value emitSize(StringRef expression) { return function.emitSize(e, e.getLoc(), expression); }

private:
  void packPairs(LoadOp load, const Place &place);
  KeyPanel pack(Value panel, const Place &place, Type element);
  KeyPanel packPages(Value panel, const Place &place, Type element);
  KeyPanel keyPanelInMemory(Value buffer, const Place &place);
  void extendRows(const KeyPanel &from, const KeyPanel &into, const Index &count, int64_t depth);

  llvm::DenseMap<Value, Value> memories;
  /// The packed block of each panel, and its first column.
  llvm::DenseMap<Value, std::pair<KeyPanel, Index>> packed;
  llvm::DenseMap<Value, KeyPanel> paired;
  llvm::DenseMap<Value, Index> firsts; // offset of the buffer in its memory, if not 0
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_STAGECONTEXT_H
