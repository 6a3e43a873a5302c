//===- BlockEmitter.h - tile ops on one block of rows and keys ------------===//
//
// A tile value inside a block is a function from a point (row, column, depth) to an element:
//
//   tile.load, tile.window                     read their buffer at the point, without a copy
//   tile.constant, tile.position, tile.index   compute the element from the point
//   other ops                                  compute every point of the block into scratch
//                                              memory, from which the element is read
//
// Broadcasting then needs no code: a value over r ignores the column and the depth of the point,
// and a contraction over c evaluates both operands at the same point for every column.
//
// An element has the type of its value. Sums and products are computed in f32 (f64 for f64 values),
// in which products of narrower types are exact; stored elements are rounded to their type.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOLOOPS_BLOCKEMITTER_H
#define PE_PASSES_TOLOOPS_BLOCKEMITTER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/ToLoops/StageFunction.h"
#include "passes/ToLoops/ToLoops.h"

#include <functional>

namespace mlir::tile {

/// A point of the current block, one index per space. Rows and columns are relative to the block.
class Point {
public:
  /// Returns the index in `space`, or null.
  Value at(StringRef space) const {
    const auto *found = llvm::find_if(indices, [&](auto &index) { return index.first == space; });
    return found == indices.end() ? Value() : found->second;
  }
  /// Returns the same point with another index in `space`.
  Point with(StringRef space, Value index) const {
    Point moved = *this;
    llvm::erase_if(moved.indices, [&](auto &known) { return known.first == space; });
    moved.indices.push_back({space, index});
    return moved;
  }

private:
  SmallVector<std::pair<StringRef, Value>, 4> indices;
};

/// The head and the block for which code is being emitted; null outside the respective loop.
struct BlockPosition {
  Value b, hq, hkv;
  Value firstRow, rows;
  Value firstColumn, columns;
  Value keyBlock; // the index of the block, for extent kb
  Value split;    // the index of the split of the keys, for extent ks
};

/// Returns the type in which elements of type `element` are added and multiplied.
Type computationType(Type element);

/// Emits tile ops as scalar loops over the current block.
class BlockEmitter {
public:
  using Element = std::function<Value(const Point &)>;

  BlockEmitter(StageOp stage, const StageFunction &function, const LoopOptions &options);

  /// Emits one op at the insertion point.
  void emit(Operation &op);

  /// Returns the element of `value` at `point`.
  Value at(Value value, const Point &point) { return elements.find(value)->second(point); }
  /// Makes `element` compute the elements of `value`.
  void define(Value value, Element element) { elements[value] = std::move(element); }
  /// Makes `value` read its elements from `buffer`, whose extents' names determine the indices.
  void defineInBuffer(Value value, Value buffer);
  /// Computes `element` at every point of the block and stores it in the scratch memory of
  /// `result`, rounded to its type.
  void compute(Value result, llvm::function_ref<Value(const Point &)> element);

  /// Emits loops over every point of `spaces` in the block, the first space outermost, and `body`
  /// inside them.
  void forEachPoint(const SpaceSet &spaces, llvm::function_ref<void(const Point &)> body);
  /// Returns the extent of `space` in the block.
  Value extentOf(StringRef space);
  /// Emits a loop of `count` steps from 0.
  void forRange(Value count, llvm::function_ref<void(Value)> body);
  /// Emits a loop of `count` steps with a loop-carried value; returns its final value.
  Value foldRange(Value count, Value initial, llvm::function_ref<Value(Value, Value)> body);
  /// Returns true (an i1) if `element` is below `bound` in every row of the block.
  Value isBelowInEveryRow(double bound, llvm::function_ref<Value(const Point &)> element);

  /// Reads `buffer` at the point. Extents that name no space take their indices from `extra`, in
  /// order.
  Value readBuffer(Value buffer, const Point &point, ValueRange extra = {});
  /// Writes `value` to `buffer` at the point, converted to the buffer's type.
  void writeBuffer(Value value, Value buffer, const Point &point);
  /// Adds `value` to the element of `buffer` at the point.
  void addToBuffer(Value value, Value buffer, const Point &point, ValueRange extra = {});

  /// Returns a constant of f32, or of f64 if `type` is f64.
  Value number(double value, Type type = {});
  /// Converts `value` to a floating-point `type`, with rounding if that is narrower.
  Value convert(Value value, Type type);
  Value index(int64_t value);
  Value size(StringRef expression);

  /// Returns the size of the scratch memory allocated so far.
  int64_t getScratchBytes() const { return scratchBytes; }

  ImplicitLocOpBuilder builder;
  BlockPosition position;

private:
  void emitPosition(PositionOp op);
  void emitIndex(IndexOp op);
  void emitMap(MapOp op);
  void emitRandom(RandomOp op);
  void emitWindowDot(WindowDotOp op);
  void emitWindowSum(WindowSumOp op);
  void emitWindowOuter(WindowOuterOp op);
  void emitNear(NearOp op);
  void emitNearGrad(NearGradOp op);
  /// Returns i - j - first.
  Value distanceFrom(int64_t first, const Point &point);
  void emitReduce(ReduceOp op);
  void emitDot(DotOp op);
  void emitRescale(RescaleOp op);
  void emitScan(ScanOp op);
  void emitSegments(SegmentsOp op);
  void emitSegmentsGrad(SegmentsGradOp op);

  /// Return the row or column index of the point within the call.
  Value callRow(const Point &point);
  Value callColumn(const Point &point);
  /// Returns true (an i1) if the pair is inside the stage's mask.
  Value insideMask(const Point &point);
  void ifInsideMask(const Point &point, llvm::function_ref<void()> body);
  /// Reduces over one space with `combine`; skips pairs outside the mask if `masked`.
  Value contract(StringRef axis, bool masked, Value initial, const Point &point,
                 llvm::function_ref<Value(Value, const Point &)> combine);
  SmallVector<Value> bufferIndices(Value buffer, const Point &point, ValueRange extra = {});
  /// Returns the page of a key in a pool.
  Value pageOf(Value table, const Point &point);
  /// Returns the slot of a pair in a buffer of partial sums with `count` slots.
  Value slotOf(SlotsAttr slots, StringRef count, const Point &point);
  /// Returns the memory of `value` for one block, allocated on first use.
  Value getScratch(Value value);
  SmallVector<Value> scratchIndices(const SpaceSet &spaces, const Point &point);
  void writeScratch(Value number, Value result, const Point &point);
  /// Makes `result` read its elements from its scratch memory.
  void defineInScratch(Value result);

  /// The piece of a piecewise polynomial of u * v that a pair is in.
  struct Segment {
    Value u, v;
    Value x;      // the argument of the piece's polynomial
    Value number; // the number of kinks below u * v, which is the index of the piece
    SmallVector<Value> coefficients;
  };
  Segment findSegment(Value u, Value v, Value knots, Value coefficients, Value count,
                      const Point &point);

  StageOp stage;
  const StageFunction &function;
  const LoopOptions &options;
  DenseMap<Value, Element> elements;
  DenseMap<Value, Value> scratch;
  int64_t scratchBytes = 0;
};

} // namespace mlir::tile

#endif // PE_PASSES_TOLOOPS_BLOCKEMITTER_H
