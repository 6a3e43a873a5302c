//===- BlockEmitter.h - tile ops on one block of rows and keys ------------===//
//
// A tile value inside a block is a function from a point (row, column, depth) to a number:
//
//   tile.load      reads its buffer there; nothing is copied
//   tile.constant  is the same number everywhere
//   anything else  was computed for every point of the block into scratch memory, and is read there
//
// Broadcasting then needs no code: a value over r ignores the
// column and the depth of the point; and a contraction over c
// evaluates both operands at the same point for every column.
//
// An element has the type of its value. Sums and products are computed in f32 (f64 for f64 values),
// where products of narrower types are exact; what is kept or stored is rounded to its type.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOLOOPS_BLOCKEMITTER_H
#define PE_PASSES_TOLOOPS_BLOCKEMITTER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "passes/ToLoops/StageFunction.h"
#include "passes/ToLoops/ToLoops.h"

#include <functional>

namespace mlir::tile {

/// A point of the current block, one index per space;
/// rows and columns are relative to the block.
class Point {
public:
  /// The index in `space`, or null.
  Value at(StringRef space) const {
    const auto *found = llvm::find_if(indices, [&](auto &index) { return index.first == space; });
    return found == indices.end() ? Value() : found->second;
  }
  /// The same point with another index in `space`.
  Point with(StringRef space, Value index) const {
    Point moved = *this;
    llvm::erase_if(moved.indices, [&](auto &known) { return known.first == space; });
    moved.indices.push_back({space, index});
    return moved;
  }

private:
  SmallVector<std::pair<StringRef, Value>, 4> indices;
};

/// The head and the block that code is being emitted for; null where there is none.
struct BlockPosition {
  Value b, hq, hkv;
  Value firstRow, rows;
  Value firstColumn, columns;
  Value keyBlock; // the block's number, for extent kb
};

/// The type in which values of type `element` are added and multiplied.
Type computationType(Type element);

class BlockEmitter {
public:
  using Element = std::function<Value(const Point &)>;

  BlockEmitter(StageOp stage, const StageFunction &function, const LoopOptions &options);

  /// Emits one op at the insertion point.
  void emit(Operation &op);

  /// The element of `value` at `point`.
  Value at(Value value, const Point &point) { return elements.find(value)->second(point); }
  /// Defines `value` as what `element` computes.
  void define(Value value, Element element) { elements[value] = std::move(element); }
  /// Defines `value` as an element of `buffer`, its indices implied by the names of the extents.
  void defineInBuffer(Value value, Value buffer);
  /// Computes `element`, rounded to the value's type, at every point of the block into `result`'s
  /// scratch memory.
  void compute(Value result, llvm::function_ref<Value(const Point &)> element);

  /// Loops over every point that `spaces` has in the block, the first outermost; the builder is
  /// inside during `body`.
  void forEachPoint(const SpaceSet &spaces, llvm::function_ref<void(const Point &)> body);
  /// The extent of `space` in the block.
  Value extentOf(StringRef space);
  /// A loop of `count` steps from 0.
  void forRange(Value count, llvm::function_ref<void(Value)> body);
  /// The same with a loop-carried value.
  Value foldRange(Value count, Value initial, llvm::function_ref<Value(Value, Value)> body);
  /// Whether `element` is below `bound` in every row of the block.
  Value isBelowInEveryRow(double bound, llvm::function_ref<Value(const Point &)> element);

  /// The extents' names give the indices; other extents take the next of `extra`.
  Value readBuffer(Value buffer, const Point &point, ValueRange extra = {});
  /// Writes `value` to `buffer` at the point, in the buffer's type, or adds it there.
  void writeBuffer(Value value, Value buffer, const Point &point);
  void addToBuffer(Value value, Value buffer, const Point &point, ValueRange extra = {});

  /// Of f32, or of f64 where `type` is f64.
  Value number(double value, Type type = {});
  /// `value` in a floating `type`, rounded where that is narrower.
  Value convert(Value value, Type type);
  Value index(int64_t value);
  Value size(StringRef expression);

  /// Bytes of scratch memory so far.
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
  /// i - j - first.
  Value distanceFrom(int64_t first, const Point &point);
  void emitReduce(ReduceOp op);
  void emitDot(DotOp op);
  void emitScan(ScanOp op);
  void emitSegments(SegmentsOp op);
  void emitSegmentsGrad(SegmentsGradOp op);

  /// The point's row or column index within the call.
  Value callRow(const Point &point);
  Value callColumn(const Point &point);
  /// Whether the pair is inside the stage's mask.
  Value insideMask(const Point &point);
  void ifInsideMask(const Point &point, llvm::function_ref<void()> body);
  /// Sum or maximum over one space; pairs outside the mask are left out if `masked`.
  Value contract(StringRef axis, bool masked, Value initial, const Point &point,
                 llvm::function_ref<Value(Value, const Point &)> combine);
  SmallVector<Value> bufferIndices(Value buffer, const Point &point, ValueRange extra = {});
  /// Memory for `value` on one block, made on first use.
  Value getScratch(Value value);
  SmallVector<Value> scratchIndices(const SpaceSet &spaces, const Point &point);
  void writeScratch(Value number, Value result, const Point &point);
  /// Defines `result` as the contents of its scratch memory.
  void defineInScratch(Value result);

  /// Where a pair stands on a piecewise polynomial of u * v.
  struct Segment {
    Value u, v;
    Value x;      // what the piece's polynomial is in
    Value number; // how many kinks are below u * v
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
