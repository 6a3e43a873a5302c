//===- Gradients.cpp - adjoints of functions of the distance --------------===//
#include "passes/ToGPU/Folds.h"
#include "passes/ToGPU/Piecewise.h"
#include "passes/ToGPU/Sums.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

void mlir::tile::gpu::emitWindowGrad(Step &step, WindowGradOp op) {
  FragmentKernel &k = step.k;
  Registers sums(k.sums.lineSums(k));
  for (auto [pair, value] : llvm::enumerate(step.registers(op.getValue()))) {
    Value &sum = sums[k.sums.sumOfPair(k, pair)];
    sum = sum ? k.b.add(sum, value) : value;
  }
  k.sums.addDiagonals(step, op.getTable(), sums, op.getValue());
}

namespace {

class SegmentsGradEmitter {
public:
  SegmentsGradEmitter(Step &step, SegmentsGradOp op)
      : step(step), k(step.k), b(k.b), op(op), block(findSegmentBlock(step, op.getCoefficients())),
        rows(k.registersOf({"r"})) {}
  void emit();

private:
  Value placeOf(const Piece &piece, int64_t pair);
  Value slopeAt(const Piece &piece, Value x);
  Value weightOf(const Piece &piece, int64_t pair, Value g, Registers &moments);
  void addPiece(const Num &number, llvm::function_ref<Value(int64_t pair)> valueOf,
                MutableArrayRef<Value> sums);
  void plus(Value &sum, Value value) { sum = sum ? b.add(sum, value) : value; }
  void plus(Value &sum, Value x, Value y) { sum = sum ? b.fma(x, y, sum) : b.mul(x, y); }

  Step &step;
  FragmentKernel &k;
  KernelBuilder &b;
  SegmentsGradOp op;
  SegmentBlock block;
  const int64_t rows; // of a lane
};

/// Returns the argument of the piece's polynomial.
Value SegmentsGradEmitter::placeOf(const Piece &piece, int64_t pair) {
  return b.fma(block.u[pair], block.vOf(k, pair), piece.minusCentre);
}

/// Returns the slope of a polynomial that is not linear.
Value SegmentsGradEmitter::slopeAt(const Piece &piece, Value x) {
  Value slope = b.mul(piece.coefficients[block.degree], b.number(block.degree));
  for (int64_t m = block.degree - 1; m > 0; --m) {
    Value coefficient = piece.coefficients[m];
    slope = b.fma(slope, x, m == 1 ? coefficient : b.mul(coefficient, b.number(m)));
  }
  return slope;
}

/// Adds g x, g x^2, ... of a pair to the moments, and returns g times the slope.
Value SegmentsGradEmitter::weightOf(const Piece &piece, int64_t pair, Value g, Registers &moments) {
  Value x = placeOf(piece, pair), power = g;
  for (int64_t m = 1; m < block.degree; ++m) {
    power = b.mul(power, x);
    plus(moments[m], power);
  }
  plus(moments[block.degree], power, x);
  return b.mul(g, slopeAt(piece, x));
}

/// Adds (sum g, sum g x, ...) over the warp's pairs to moments[piece]. Adds g * p' * u to the
/// lane's sums by row, which come first in `sums`, and g * p' * v to those by diagonal. The slope
/// of a linear piece multiplies the sum of g * u of a row, and v; its moment of x is the sum of v
/// times those of the rows.
void SegmentsGradEmitter::addPiece(const Num &number,
                                   llvm::function_ref<Value(int64_t pair)> valueOf,
                                   MutableArrayRef<Value> sums) {
  const bool isLinear = block.degree == 1;
  const Piece piece = block.piece(k, number);
  SmallVector<SmallVector<int64_t>> pairs(rows);
  for (int64_t pair = 0, e = block.u.size(); pair < e; ++pair)
    pairs[k.indexOf({"r"}, k.elementAt({"r", "c"}, pair))].push_back(pair);
  Registers moments(block.degree + 1);
  for (int64_t row = 0; row < rows; ++row) {
    Value v = block.v[row], sum;
    Value factor = isLinear ? b.mul(v, piece.coefficients[1]) : v;
    for (int64_t pair : pairs[row]) {
      Value weight = valueOf(pair);
      plus(moments[0], weight);
      if (block.degree > 1)
        weight = weightOf(piece, pair, weight, moments);
      plus(sum, weight, block.u[pair]);
      plus(sums[rows + k.sums.sumOfPair(k, pair)], weight, factor);
    }
    if (isLinear) {
      plus(moments[1], sum, v);
      sum = b.mul(sum, piece.coefficients[1]);
    }
    plus(sums[row], sum);
  }
  k.sums.addToHead(k, op.getMoments(), number * Num(block.degree + 1), std::move(moments));
}

/// Adds the values up to each kink to the piece before it, and the rest to the last piece. Most
/// blocks have no kink, and need no test of their pairs. NaN counts as before the kink.
void SegmentsGradEmitter::emit() {
  const Registers &g = step.registers(op.getValue());
  const int64_t count = g.size();
  Registers carried = g;
  carried.append(rows + k.sums.lineSums(k), b.number(0.0));
  carried = b.loop(block.firstPiece, block.lastPiece, 1, carried,
                   [&](const Num &number, ValueRange before) {
                     Registers after(before);
                     Value knot = block.knot(k, number + Num(1));
                     auto takeUpTo = [&](int64_t pair) {
                       Value isAbove = block.isAbove(k, pair, knot);
                       after[pair] = b.select(isAbove, before[pair], b.number(0.0));
                       return b.select(isAbove, b.number(0.0), before[pair]);
                     };
                     addPiece(number, takeUpTo, MutableArrayRef(after).drop_front(count));
                     return after;
                   });
  MutableArrayRef<Value> sums = MutableArrayRef(carried).drop_front(count);
  addPiece(block.lastPiece, [&](int64_t pair) { return carried[pair]; }, sums);
  if (op.getVGrad())
    addToLine(step, op.getVGrad(), {"r"}, Registers(sums.take_front(rows)));
  if (op.getUGrad())
    k.sums.addDiagonals(step, op.getUGrad(), Registers(sums.drop_front(rows)));
}

} // namespace

void mlir::tile::gpu::emitSegmentsGrad(Step &step, SegmentsGradOp op) {
  SegmentsGradEmitter(step, op).emit();
}
