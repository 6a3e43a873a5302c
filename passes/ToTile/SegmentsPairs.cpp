//===- SegmentsPairs.cpp - terms with too many pieces, per score ----------===//
//
// Evaluates and differentiates the code of the term for each score if the tables have no pieces.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/SegmentsTerm.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numbers>

using namespace mlir;
using namespace mlir::tile;

/// Replaces float64 cosines by f32 cosines of their phases modulo 2 pi.
static void narrowCosines(Block &block) {
  block.walk([](math::CosOp op) {
    if (!op.getType().isF64())
      return;
    Scalar s(op.getLoc(), op);
    const double turn = 2 * std::numbers::pi;
    Value phase = op.getOperand();
    Value turns = s.create<math::RoundEvenOp>(s.mul(phase, s.number(1 / turn, op.getType())));
    Value rest = s.sub(phase, s.mul(turns, s.number(turn, op.getType())));
    Value cosine = s.create<math::CosOp>(s.create<arith::TruncFOp>(s.getF32Type(), rest));
    op.replaceAllUsesWith(s.create<arith::ExtFOp>(op.getType(), cosine).getResult());
    op.erase();
  });
}

SegmentsTerm::PairCode::PairCode(SegmentsTerm &term, Scalar &s, ValueRange at, FloatType type)
    : term(term), factorParams(term.parameters(pe::TermPart::Factor)),
      rowParams(term.parameters(pe::TermPart::RowFactor)),
      pieceParams(term.parameters(pe::TermPart::Piece)),
      scaleParams(term.parameters(pe::TermPart::Scale)) {
  for (TileParameters *params : {&factorParams, &rowParams, &pieceParams, &scaleParams})
    params->compute = type;
  Value zero = s.index(0), head = at[1];
  Value position = s.create<arith::MaxSIOp>(at[2], zero);
  term.mapPart(factorMap, pe::TermPart::Factor, zero, head, s.sub(at[2], at[3]));
  term.mapPart(rowMap, pe::TermPart::RowFactor, zero, head, position);
  term.mapPart(scaleMap, pe::TermPart::Scale, zero, head, {});
  u = term.factor->emitPrimal(s, factorMap, factorParams, type);
  v = term.row->emitPrimal(s, rowMap, rowParams, type);
  term.mapPart(pieceMap, pe::TermPart::Piece, zero, head, s.mul(u, v));
  value = term.piece->emitPrimal(s, pieceMap, pieceParams, type);
  unit = term.scale->emitPrimal(s, scaleMap, scaleParams, type);
}

void SegmentsTerm::PairCode::emitAdjoint(Scalar &s, Value cotangent) {
  Value x = term.piece->emitAdjoint(s, pieceMap, s.mul(cotangent, unit), pieceParams).front();
  term.scale->emitAdjoint(s, scaleMap, s.mul(cotangent, value), scaleParams);
  term.factor->emitAdjoint(s, factorMap, s.mul(x, v), factorParams);
  term.row->emitAdjoint(s, rowMap, s.mul(x, u), rowParams);
}

/// Emits a loop that runs once if there are no pieces, and otherwise not at all. Its result is that
/// of the body, or `otherwise` (if given) when the loop does not run.
Value SegmentsTerm::ifNoPieces(Scalar &s, Value otherwise,
                               llvm::function_ref<Value(Scalar &)> body) {
  Value zero = s.index(0), one = s.index(1);
  Value pieces = s.create<arith::IndexCastOp>(s.getIndexType(), readElement(s, count, {zero}));
  Value times = s.sub(one, s.create<arith::MinSIOp>(pieces, one));
  auto loop =
      s.create<scf::ForOp>(zero, times, one, otherwise ? ValueRange(otherwise) : ValueRange());
  if (!otherwise) {
    Scalar inner(s.getLoc(), OpBuilder::atBlockTerminator(loop.getBody()));
    body(inner);
    return {};
  }
  Scalar inner(s.getLoc(), OpBuilder::atBlockEnd(loop.getBody()));
  inner.create<scf::YieldOp>(body(inner));
  return loop.getResult(0);
}

/// Replaces the term's value by that of its code if there are no pieces.
Value SegmentsTerm::emitPairs(TileBuilder &t, Value value) {
  SmallVector<Value> inputs = t.pairPoint();
  inputs.push_back(value);
  const bool hasCosines = llvm::any_of(piecewise.getChain(), [](const pe::ChainLink &link) {
    return link.function == pe::Activation::Cos;
  });
  return t.map(inputs, {"r", "c"}, [&](Scalar &s, ValueRange at) {
    return ifNoPieces(s, at.back(), [&](Scalar &x) -> Value {
      Type f32 = x.getF32Type();
      PairCode pair(*this, x, at, cast<FloatType>(hasCosines ? x.getF64Type() : f32));
      Value value = x.mul(pair.value, pair.unit);
      narrowCosines(*x.getInsertionBlock()); // may replace pair.value
      value = x.mul(value, x.number(kLog2E, value.getType()));
      return hasCosines ? x.create<arith::TruncFOp>(f32, value).getResult() : value;
    });
  });
}

void SegmentsTerm::emitPairGradient(TileBuilder &t, Value cotangent) {
  CaptureSums &sums = captureSums.emplace_back(context, term.getCaptures(),
                                               numbered(name + "_each", captureSums.size()));
  sums.create();
  SmallVector<Value> inputs = t.pairPoint();
  inputs.push_back(cotangent);
  t.eachPair(inputs, [&](Scalar &s, ValueRange at) {
    ifNoPieces(s, {}, [&](Scalar &x) -> Value {
      PairCode pair(*this, x, at, cast<FloatType>(x.getF32Type()));
      for (TileParameters *params :
           {&pair.factorParams, &pair.rowParams, &pair.pieceParams, &pair.scaleParams})
        sums.use(*params, at);
      pair.emitAdjoint(x, at.back());
      return {};
    });
  });
}
