//===- FragmentKernel.h - a stage with a stream as matrix fragments -------===//
//
// The tile program is lowered op by op; what changes from the definition is where values live. One
// side of the pair space is the owner (rows, or columns), the other is inner. Pairs, vectors and
// sums of panels lie in registers (dialect/Math/FragmentLayout.h says where), loaded panels in
// shared memory (dialect/Math/PanelLayout.h).
//
// A contraction over depth or inner takes its right-hand side from shared memory; one over owners
// passes its left-hand side through shared memory, transposed, because owners are divided among the
// warps. Where the stage scans along the keys, the inner block is permuted so that a lane holds
// neighbouring keys (`isPermuted`): the scan is then 16 steps in registers and one in the quad.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_FRAGMENTKERNEL_H
#define PE_PASSES_TOGPU_FRAGMENTKERNEL_H

#include "dialect/Math/FragmentLayout.h"
#include "dialect/Math/KeptPairs.h"
#include "dialect/Math/PanelLayout.h"
#include "passes/Schedule/GpuSchedule.h"
#include "passes/ToGPU/KernelFunction.h"
#include "passes/ToGPU/Turns.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::tile::gpu {

using Registers = SmallVector<Value>;

/// The pairs that exist and that the mask keeps, in the kernel's blocks, and the positions of row
/// and column 0.
struct CallPairs : KeptPairs<Num> {
  Num rowStart, columnStart;
};

/// A block of a panel in shared memory.
struct Panel : ::pe::math::PanelLayout {
  Type element;       // tf32 is kept as f32
  int64_t offset = 0; // bytes, of the first copy
  Num stage = 0;      // which copy is current
};

/// The part of a table of distances that a block needs, in shared memory: entry n belongs to the
/// pairs with row - column = n - (columns - 1) within the block.
struct Window {
  int64_t offset = 0, stageBytes = 0; // bytes, of the first copy and of one
  int64_t entries = 0;
  Num stage = 0; // which copy is current
};

using Element = ::pe::math::FragmentElement;

/// A value over rows or columns that is added to a buffer.
struct LineSum {
  Value buffer;
  SpaceSet spaces;
  Registers sums;
};

class PairSums;
class RegionWriter;

class FragmentKernel {
public:
  FragmentKernel(StageOp stage, const GpuSchedule &schedule, KernelFunction &function);

  //===- What is lowered ---------------------------------------------------------===//
  StageOp stage;
  StreamOp stream;
  const GpuSchedule schedule;
  KernelFunction &fn;
  KernelBuilder &b;
  const bool rowsOwn;
  const bool isPermuted;
  const ::pe::math::FragmentLayout layout;

  //===- Geometry ------------------------------------------------------------------===//
  int64_t depthOf(const SpaceSet &s) const { return s.has("d") ? fn.headDim : fn.valueDim; }
  bool isOwnerSide(const SpaceSet &s) const { return rowsOwn ? hasRows(s) : hasColumns(s); }
  ::pe::math::FragmentKind kindOf(const SpaceSet &s) const;
  /// Registers of a value, and where each lies.
  int64_t registersOf(const SpaceSet &s) const { return layout.registersOf(kindOf(s), depthOf(s)); }
  Element elementAt(const SpaceSet &s, int64_t index) const {
    return layout.elementAt(kindOf(s), index, depthOf(s));
  }
  int64_t indexOf(const SpaceSet &s, const Element &at) const {
    return layout.indexOf(kindOf(s), at, depthOf(s));
  }

  //===- Where this thread is --------------------------------------------------------===//
  Num thread, lane, warp, g, t;
  Num batch, queryHead, keyHead;
  Num ownerBlock, ownerBase; // of the CTA: number, first owner
  Num innerBlock, innerBase; // of the current step
  Num rows, columns;
  CallPairs mask;
  /// Bounds of the columns of this lane's rows, where the stage's pairs have them.
  Registers lowColumns, highColumns;
  /// Whether every pair of this warp's current block exists and is inside the mask.
  Value isFull;

  /// Owner or inner within the call, of an element.
  Num ownerAt(const Element &at) const { return layout.ownerAt(ownerBase, warp, g, at); }
  Num innerAt(const Element &at) const { return innerBase + layout.innerAt(t, at); }
  Num rowAt(const Element &at) const { return rowsOwn ? ownerAt(at) : innerAt(at); }
  Num columnAt(const Element &at) const { return rowsOwn ? innerAt(at) : ownerAt(at); }
  /// The same of an inner panel that is summed up, and the depth tile.
  Num foldedInnerAt(const Element &at) const {
    return layout.foldedInnerAt(innerBase, warp, g, at);
  }
  Num foldedDepthTile(const Element &at, const SpaceSet &s) const {
    return layout.foldedDepthTile(warp, at, depthOf(s));
  }
  /// The inner blocks that an owner block visits.
  Interval<Num> innerBlocksOf(const Num &owner) const {
    return rowsOwn ? mask.columnBlocksOf(owner) : mask.rowBlocksOf(owner);
  }
  /// Which turn of an inner block that visits it an owner block has, and how many there are.
  Visit<Num> visitOf(const Num &owner, const Num &inner) const {
    return rowsOwn ? mask.visitOfRowBlock(owner, inner) : mask.visitOfColumnBlock(owner, inner);
  }
  Place place() const { return {batch, queryHead, keyHead, 0, 0, 0, 0}; }

  //===- Values ------------------------------------------------------------------------===//
  Registers &registers(Value value);
  void set(Value value, Registers registers) { values[value] = std::move(registers); }
  bool isKnown(Value value) const { return values.count(value) || panels.count(value); }
  Panel &panelOf(Value value);

  //===- Shared memory --------------------------------------------------------------------===//
  int64_t allocate(int64_t bytes);
  int64_t sharedBytes() const { return shared; }
  Panel makePanel(int64_t rows, int64_t depth, Type element, int64_t copies);
  /// The address of a chunk of 16 bytes in row `rowConstant + row`, `rowConstant` a multiple of 8;
  /// the chunk is `chunkConstant + chunk`, and no bit is set in both.
  Value chunkAddress(const Panel &panel, int64_t rowConstant, const Num &row, int64_t chunkConstant,
                     const Num &chunk);

  //===- Pair values through shared memory: rows are owners, columns inner ------------------===//
  /// Memory that a warp may use for its own owners' pairs until the next call.
  Panel warpPairs();
  int usesOfWarpPairs = 0;
  /// Copies of owner panels have been waited for, by the thread that made them.
  bool hasOwners = false;
  /// Writes this warp's pairs.
  void storePairs(const Panel &panel, const Registers &pairs);
  /// The pairs of all warps, written on the first call for `value`; ends with a barrier.
  Panel stagedPairs(Value value);

  llvm::DenseMap<Value, Panel> panels;
  llvm::MapVector<Value, Window> windows; // by table
  llvm::DenseMap<Value, Registers> values;
  PairSums *sums = nullptr;
  /// The kinks inside this step's block, by what they are the kinks of (Biases.cpp).
  llvm::DenseMap<std::pair<Value, Value>, std::pair<Num, Num>> kinks;
  /// What this step does in turns, at its end.
  SmallVector<Turn> turns;
  /// Values over the inner side that this step adds to buffers, when its turn comes.
  SmallVector<LineSum> orderedLines;
  /// Accumulators that a contraction adds to: the fold it contributes to.
  llvm::DenseMap<Value, Registers> foldStart;

private:
  CallPairs keptPairs();
  int64_t shared = 0;
  std::optional<Panel> pairsOfWarps;
  llvm::DenseMap<Value, Panel> staged;
};

//===- One file per kind of op ----------------------------------------------------------===//

/// Panels.cpp: starts copying rows [base, base + panel.rows) that are below `limit`.
void copyPanel(FragmentKernel &k, const Panel &panel, LoadOp load, const Num &base,
               const Num &limit, bool permuted);
/// A vector or scalar load, evaluated now.
void emitLoad(FragmentKernel &k, LoadOp load);
void emitStore(FragmentKernel &k, StoreOp store);

/// Dots.cpp
void emitDot(FragmentKernel &k, DotOp dot);

/// Maps.cpp: registers, or a loaded panel to another one.
void emitMap(FragmentKernel &k, MapOp map);
/// Whether the map rounds a panel that nothing else reads: it may do so in place.
bool isRoundingInPlace(MapOp map);
/// Maps the chunks of `from` that this thread has copied, elementwise.
void mapChunks(FragmentKernel &k, MapOp map, const Panel &from, const Panel &to);

/// PairLoops.cpp: a map over pairs with loops inside, or with sums at places of the pair.
bool needsPairLoop(MapOp map);
void emitPairLoop(FragmentKernel &k, MapOp map);
/// Whether a sum inside a map goes to one of constantly many elements of its head.
bool hasPlaceInHead(AccumulateOp sum);
/// How many elements a head has in a buffer [b, hq, ...]; further extents "hq" are the head itself.
int64_t elementsOfHead(Value buffer);
/// The element of the head that a sum goes to, clamped to the extents.
Num placeInHead(FragmentKernel &k, AccumulateOp sum, RegionWriter &writer);
/// Elements of a head that a thread can sum up by itself.
constexpr int64_t kMostSumsOfThread = 1024;

/// Vectors.cpp
void emitConstant(FragmentKernel &k, ConstantOp op);
/// What a tile.position or tile.index is at a row or a column.
Num indexAt(FragmentKernel &k, Operation *op, llvm::function_ref<Num()> row,
            llvm::function_ref<Num()> column);
/// The same in registers.
void emitIndices(FragmentKernel &k, Operation *op);
void emitMask(FragmentKernel &k, MaskOp op);
void emitReduce(FragmentKernel &k, ReduceOp op);
/// Combines a vector's registers over the lanes, and warps, that hold parts of the same element.
void reduceAcrossLanes(FragmentKernel &k, const SpaceSet &to, Reduction kind, Registers &values);
void emitScan(FragmentKernel &k, ScanOp op);
/// Whether the pair exists and is inside the mask.
Value isInside(FragmentKernel &k, const Num &row, const Num &column);
Value isInside(FragmentKernel &k, const Element &at);
/// Loads the bounds of this lane's rows; again where the rows are others.
void loadRowBounds(FragmentKernel &k);
/// Whether the bounds of this lane's rows hold all columns of the step's block.
Value areBoundsFull(FragmentKernel &k, const Num &column, const Num &columnEnd);

/// Biases.cpp: room for the windows of all tables that the stream reads.
void declareWindows(FragmentKernel &k, int64_t copies);
/// Starts copying the current block's part of the table.
void copyWindow(FragmentKernel &k, Value table, const Window &window);
void emitWindow(FragmentKernel &k, WindowOp op);
void emitSegments(FragmentKernel &k, SegmentsOp op);

/// Gradients.cpp
void emitWindowGrad(FragmentKernel &k, WindowGradOp op);
void emitSegmentsGrad(FragmentKernel &k, SegmentsGradOp op);

/// FragmentKernel.cpp: one op of the stage or stream, but for loads of panels.
void emitOp(FragmentKernel &k, Operation *op);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_FRAGMENTKERNEL_H
