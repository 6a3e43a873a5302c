//===- Gradients.cpp - adjoints of functions of the distance --------------===//
#include "passes/ToGPU/Folds.h"
#include "passes/ToGPU/Piecewise.h"
#include "passes/ToGPU/Sums.h"

#include <limits>

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

void mlir::tile::gpu::emitWindowGrad(Step &step, WindowGradOp op) {
  step.k.sums.addDiagonals(step, op.getTable(), step.registers(op.getValue()), op.getValue());
}

namespace {

class SegmentsGradEmitter {
public:
  SegmentsGradEmitter(Step &step, SegmentsGradOp op)
      : step(step), k(step.k), b(k.b), op(op), g(step.registers(op.getValue())),
        block(findSegmentBlock(step, op.getCoefficients())) {}
  void emit();

private:
  Value v(int64_t index) { return block.vOf(k, index); }
  Value placeOf(const Piece &piece, int64_t index);
  Registers areInside(const Num &number);
  Registers addPieces();
  void addMoments(const Num &number, const Piece &piece, const Registers &inside);
  Value weightOf(const Piece &piece, int64_t index, Value inside);
  void addRows(const Registers &weights);

  Step &step;
  FragmentKernel &k;
  KernelBuilder &b;
  SegmentsGradOp op;
  Registers g;
  SegmentBlock block;
};

/// Returns the argument of the piece's polynomial.
Value SegmentsGradEmitter::placeOf(const Piece &piece, int64_t index) {
  if (block.degree > 1)
    return b.fma(block.u[index], v(index), piece.minusCentre);
  return b.mul(block.u[index], v(index));
}

/// Returns, for every pair, whether it is inside a piece. NaN counts as inside, so that it
/// propagates.
Registers SegmentsGradEmitter::areInside(const Num &number) {
  auto is = [&](const Num &other) { return b.compare(arith::CmpIPredicate::eq, number, other); };
  const float infinity = std::numeric_limits<float>::infinity();
  Value low = b.select(is(block.firstPiece), b.number(-infinity), block.knot(k, number));
  Value high = b.select(is(block.lastPiece), b.number(infinity), block.knot(k, number + Num(1)));
  Registers areInside;
  for (size_t index = 0; index < g.size(); ++index) {
    Value t = b.mul(block.u[index], v(index));
    Value isAbove = b.create<arith::CmpFOp>(arith::CmpFPredicate::UGT, t, low);
    Value isBelow = b.create<arith::CmpFOp>(arith::CmpFPredicate::ULE, t, high);
    areInside.push_back(b.both(isAbove, isBelow));
  }
  return areInside;
}

/// Adds (sum g, sum g x, ...) over the warp's pairs to moments[piece].
void SegmentsGradEmitter::addMoments(const Num &number, const Piece &piece,
                                     const Registers &inside) {
  SmallVector<Value> sums(block.degree + 1, b.number(0.0));
  for (auto [index, value] : llvm::enumerate(inside)) {
    sums[0] = b.add(sums[0], value);
    if (block.degree == 0)
      continue;
    Value x = placeOf(piece, index), power = value;
    for (int64_t m = 1; m < block.degree; ++m) {
      power = b.mul(power, x);
      sums[m] = b.add(sums[m], power);
    }
    sums[block.degree] = b.fma(power, x, sums[block.degree]);
  }
  for (auto [moment, sum] : llvm::enumerate(sums)) {
    for (int mask : {16, 8, 4, 2, 1})
      sum = b.add(sum, b.shuffleXor(sum, mask));
    k.sums.addToHead(k, op.getMoments(), number * Num(block.degree + 1) + Num(moment), sum);
  }
}

/// Returns g times the slope of the piece.
Value SegmentsGradEmitter::weightOf(const Piece &piece, int64_t index, Value inside) {
  Value slope = piece.coefficients[block.degree];
  if (block.degree > 1) {
    Value x = placeOf(piece, index);
    slope = b.mul(slope, b.number(block.degree));
    for (int64_t m = block.degree - 1; m > 0; --m) {
      Value coefficient = piece.coefficients[m];
      slope = b.fma(slope, x, m == 1 ? coefficient : b.mul(coefficient, b.number(m)));
    }
  }
  return b.mul(inside, slope);
}

/// Adds the sum over j of g * p' * u to v_grad[i].
void SegmentsGradEmitter::addRows(const Registers &weights) {
  Registers sums(k.registersOf({"r"}));
  for (auto [index, weight] : llvm::enumerate(weights)) {
    Value &sum = sums[k.indexOf({"r"}, k.elementAt({"r", "c"}, index))];
    sum = sum ? b.fma(weight, block.u[index], sum) : b.mul(weight, block.u[index]);
  }
  addToLine(step, op.getVGrad(), {"r"}, std::move(sums));
}

/// Adds all pieces of the block to the moments, and returns g * p' at every pair if it is needed.
/// Most blocks have no kink, and need no test of their pairs. The weight of a pair replaces its g,
/// which no other piece uses.
Registers SegmentsGradEmitter::addPieces() {
  const bool needsWeights = op.getVGrad() || op.getUGrad();
  auto weigh = [&](const Piece &piece, const Registers &values) {
    Registers weights;
    for (auto [index, value] : llvm::enumerate(values))
      weights.push_back(weightOf(piece, index, value));
    return weights;
  };
  auto addOne = [&] {
    Piece piece = block.piece(k, block.firstPiece);
    addMoments(block.firstPiece, piece, g);
    return needsWeights ? weigh(piece, g) : g;
  };
  auto add = [&](const Num &number, ValueRange carried) {
    Piece piece = block.piece(k, number);
    Registers isInside = areInside(number), inside, next(carried);
    for (auto [value, is] : llvm::zip(next, isInside))
      inside.push_back(b.select(is, value, b.number(0.0)));
    addMoments(number, piece, inside);
    if (needsWeights)
      for (auto [value, is, weight] : llvm::zip(next, isInside, weigh(piece, inside)))
        value = b.select(is, weight, value);
    return next;
  };
  return b.ifElse(b.compare(arith::CmpIPredicate::eq, block.firstPiece, block.lastPiece),
                  SmallVector<Type>(g.size(), b.f32()), addOne,
                  [&] { return b.loop(block.firstPiece, block.lastPiece + Num(1), 1, g, add); });
}

void SegmentsGradEmitter::emit() {
  Registers weights = addPieces();
  if (op.getVGrad())
    addRows(weights);
  if (!op.getUGrad())
    return;
  for (auto [index, weight] : llvm::enumerate(weights))
    weight = b.mul(weight, v(index));
  k.sums.addDiagonals(step, op.getUGrad(), weights);
}

} // namespace

void mlir::tile::gpu::emitSegmentsGrad(Step &step, SegmentsGradOp op) {
  SegmentsGradEmitter(step, op).emit();
}
