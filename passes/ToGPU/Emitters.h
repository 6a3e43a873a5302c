//===- Emitters.h - the lowering of each op, one file per kind --*- C++ -*-===//
#ifndef PE_PASSES_TOGPU_EMITTERS_H
#define PE_PASSES_TOGPU_EMITTERS_H

#include "passes/ToGPU/Step.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::tile::gpu {

class RegionWriter;

/// Panels.cpp: starts copying the block of rows from `base`, of a buffer at `place`.
void copyPanel(FragmentKernel &k, const Panel &panel, LoadOp load, const Place &place,
               const Num &base);
/// A vector or scalar load, evaluated now.
void emitLoad(Scope &scope, LoadOp load);
void emitStore(Scope &scope, StoreOp store);

/// Dots.cpp
void emitDot(Step &step, DotOp dot);

/// Maps.cpp: registers, or a loaded panel to another one.
void emitMap(Scope &scope, MapOp map);
/// Whether the map rounds a panel that nothing else reads: it may do so in place.
bool isRoundingInPlace(MapOp map);
/// Maps the chunks of `from` that this thread has copied, elementwise.
void mapChunks(FragmentKernel &k, MapOp map, const Panel &from, const Panel &to);

/// PairLoops.cpp: a map over pairs with loops inside, or with sums at places of the pair.
bool needsPairLoop(MapOp map);
void emitPairLoop(Step &step, MapOp map);
/// Whether a sum inside a map goes to one of constantly many elements of its head.
bool hasPlaceInHead(AccumulateOp sum);
/// Whether a sum inside a map goes to its pair's own element of a buffer [b, hq, r, c].
bool hasElementOfPair(AccumulateOp sum);
/// How many elements a head has in a buffer [b, hq, ...]; further extents "hq" are the head itself.
int64_t elementsOfHead(Value buffer);
/// The element of the head that a sum goes to, clamped to the extents.
Num placeInHead(FragmentKernel &k, AccumulateOp sum, RegionWriter &writer);
/// Elements of a head that a thread can sum up by itself.
constexpr int64_t kMostSumsOfThread = 1024;

/// Vectors.cpp
void emitConstant(Scope &scope, ConstantOp op);
/// What a tile.position or tile.index is at a row or a column.
Num indexAt(Scope &scope, Operation *op, llvm::function_ref<Num()> row,
            llvm::function_ref<Num()> column);
/// The same in registers.
void emitIndices(Scope &scope, Operation *op);
void emitMask(Step &step, MaskOp op);
/// The map that computes the condition of the stream's mask, where the mask evaluates it itself;
/// else null.
MapOp mapOfCondition(StreamOp stream);
void emitReduce(Step &step, ReduceOp op);
/// Combines a vector's registers over the lanes, and warps, that hold parts of the same element.
void reduceAcrossLanes(FragmentKernel &k, const SpaceSet &to, Reduction kind, Registers &values);
void emitScan(Step &step, ScanOp op);
/// Whether the pair exists and is inside the mask.
Value isInside(Step &step, const Num &row, const Num &column);
Value isInside(Step &step, const Element &at);
/// Loads the bounds of this lane's rows.
RowBounds loadRowBounds(Scope &scope);
/// Whether the bounds hold all columns of [column, columnEnd).
Value areBoundsFull(KernelBuilder &b, const RowBounds &bounds, const Num &column,
                    const Num &columnEnd);

/// Biases.cpp: room for the windows of all tables that the stream reads, by table.
llvm::MapVector<Value, Window> makeWindows(FragmentKernel &k, int64_t copies);
/// Starts copying a block's part of the table: that of inner rows from `base`.
void copyWindow(FragmentKernel &k, Value table, const Window &window, const Place &place,
                const Num &base);
void emitWindow(Step &step, WindowOp op);
void emitSegments(Step &step, SegmentsOp op);

/// Near.cpp
void emitNear(Step &step, NearOp op);
void emitNearGrad(Step &step, NearGradOp op);

/// Windows.cpp: adds stages that write the tables of vectors that the stage contracts with by
/// distance; the stage reads these from then on.
void layOutVectors(StageOp stage);
/// Room for the vectors of the distances of a block, by table.
llvm::MapVector<Value, Panel> makeVectorPanels(FragmentKernel &k, int64_t copies);
/// Starts copying a block's vectors: those of inner rows from `base`.
void copyVectors(FragmentKernel &k, Value table, const Panel &panel, const Place &place,
                 const Num &base);
/// Before the loop: memory of the pairs that are read by row and distance.
void makePairPanels(Scope &around);
void emitWindowDot(Step &step, WindowDotOp op);
void emitWindowSum(Step &step, WindowSumOp op);

/// DistanceSums.cpp
void emitWindowOuter(Step &step, WindowOuterOp op);

/// Random.cpp
void emitRandom(Step &step, RandomOp op);

/// Gradients.cpp
void emitWindowGrad(Step &step, WindowGradOp op);
void emitSegmentsGrad(Step &step, SegmentsGradOp op);

/// Emitters.cpp: one op of the stage or stream, but for loads of panels.
void emitOp(Scope &scope, Operation *op);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_EMITTERS_H
