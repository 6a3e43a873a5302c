//===- Emitters.h - emits each op; one file per kind ------------*- C++ -*-===//
#ifndef PE_PASSES_TOGPU_EMITTERS_H
#define PE_PASSES_TOGPU_EMITTERS_H

#include "passes/ToGPU/Step.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::tile::gpu {

class RegionWriter;

/// Panels.cpp: starts copying the block of rows from `base` on, of a buffer at `place`.
void copyPanel(FragmentKernel &k, const Panel &panel, LoadOp load, const Place &place,
               const Num &base);
/// Emits a vector or scalar load, which is evaluated immediately.
void emitLoad(Scope &scope, LoadOp load);
void emitStore(Scope &scope, StoreOp store);

/// Panels.cpp: starts copying a vector of the block at `base`. Elements that do not exist are zero.
void copyVector(FragmentKernel &k, LoadOp load, const Window &vector, const Place &place,
                const Num &base);
/// Returns the place of element `index` of a block's vector in shared memory. A permuted block has
/// a gap after the elements of each lane, so that lanes read different banks.
Num placeInVector(FragmentKernel &k, const Num &index);

/// Dots.cpp
void emitDot(Step &step, DotOp dot);

/// Maps.cpp: emits a map on registers, or from a loaded panel to another.
void emitMap(Scope &scope, MapOp map);
/// Maps the chunks of `from` that this thread has copied, elementwise.
void mapChunks(FragmentKernel &k, MapOp map, const Panel &from, const Panel &to);

/// PairLoops.cpp: maps over pairs with loops inside, or with sums at indices that depend on the
/// pair.
bool needsPairLoop(MapOp map);
void emitPairLoop(Step &step, MapOp map);
/// Returns true if a sum inside a map adds to one of a constant number of elements of its head.
bool hasPlaceInHead(AccumulateOp sum);
/// Returns the number of elements of a head in a buffer [b, hq, ...]; further extents "hq" are the
/// head itself.
int64_t elementsOfHead(Value buffer);
/// Returns the element of the head to which a sum adds, clamped to the extents.
Num placeInHead(FragmentKernel &k, AccumulateOp sum, RegionWriter &writer);
/// The most elements of a head that one thread sums.
constexpr int64_t kMostSumsOfThread = 1024;

/// Vectors.cpp
void emitConstant(Scope &scope, ConstantOp op);
/// Returns the value of a tile.position or tile.index at a row or a column.
Num indexAt(Scope &scope, Operation *op, llvm::function_ref<Num()> row,
            llvm::function_ref<Num()> column);
/// Emits a tile.position or tile.index in registers.
void emitIndices(Scope &scope, Operation *op);
void emitMask(Step &step, MaskOp op);
/// Returns the map that computes the condition of the stream's mask if the mask evaluates it
/// itself, otherwise null.
MapOp mapOfCondition(StreamOp stream);
void emitReduce(Step &step, ReduceOp op);
/// Combines a vector's registers over the lanes and warps that hold parts of the same element.
void reduceAcrossLanes(FragmentKernel &k, const SpaceSet &to, Reduction kind, Registers &values);
void emitRescale(Step &step, RescaleOp op);
/// Return true (an i1) if the pair exists and is inside the mask.
Value isInside(Step &step, const Num &row, const Num &column);
Value isInside(Step &step, const Element &at);
/// Loads the bounds of this lane's rows.
RowBounds loadRowBounds(Scope &scope);
/// Returns true (an i1) if the bounds include all columns of [column, columnEnd).
Value areBoundsFull(KernelBuilder &b, const RowBounds &bounds, const Num &column,
                    const Num &columnEnd);

/// Scans.cpp
void emitScan(Step &step, ScanOp op);

/// Biases.cpp: allocates the windows of all tables that the stream reads, by table.
llvm::MapVector<Value, Window> makeWindows(FragmentKernel &k,
                                           llvm::function_ref<int64_t(Value)> slotsOf);
/// Starts copying a block's part of the table, for inner rows from `base` on.
void copyWindow(FragmentKernel &k, Value table, const Window &window, const Place &place,
                const Num &base);
void emitWindow(Step &step, WindowOp op);

/// Piecewise.cpp
void emitSegments(Step &step, SegmentsOp op);

/// Near.cpp
void emitNear(Step &step, NearOp op);
void emitNearGrad(Step &step, NearGradOp op);

/// Windows.cpp: allocates the vectors of the distances of a block, by table, in as many slots as
/// the table's ring has.
llvm::MapVector<Value, Panel> makeVectorPanels(FragmentKernel &k,
                                               llvm::function_ref<int64_t(Value)> slotsOf);
/// Starts copying a block's vectors, for inner rows from `base` on.
void copyVectors(FragmentKernel &k, Value table, const Panel &panel, const Place &place,
                 const Num &base);
/// Allocates, before the loop, memory for pairs that are read by row and distance.
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

/// Emitters.cpp: emits any op of the stage or stream except loads of panels.
void emitOp(Scope &scope, Operation *op);

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_EMITTERS_H
