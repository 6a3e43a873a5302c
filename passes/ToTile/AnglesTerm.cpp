//===- AnglesTerm.cpp - content terms of sines and cosines ----------------===//
//
// Elements d = 2n and 2n + 1 of the vector at distance t are a_d sin(t w) + b_d cos(t w) with one
// frequency w. By the addition theorem
//
//   <q', P(i - j)> = sum over n of turned[i, 2n] cos(j w) + turned[i, 2n + 1] sin(j w)
//   turned[i, 2n]     = sum over both d of q'_d (a_d sin(i w) + b_d cos(i w))
//   turned[i, 2n + 1] = sum over both d of q'_d (b_d sin(i w) - a_d cos(i w))
//
// so the term is one more contraction of the same depth, with features of keys that all heads
// share. Angles are products of positions and frequencies in float64.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/ContentTerm.h"
#include "passes/ToTile/SineAndCosine.h"

#include "passes/Analysis/Slice.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class AnglesTerm : public ContentTerm {
public:
  AnglesTerm(PlanContext &context, pe::ContentFnOp op, const ContentSite &site, std::string name)
      : ContentTerm(context, op, site, std::move(name)), half("ceildiv(" + depth().str() + ",2)") {}

  LogicalResult prepare() override;
  Value emit(TileBuilder &t) override;
  SmallVector<SpaceSet> gradientFolds() const override { return {{"r", depth()}}; }
  SmallVector<Value> emitGradient(TileBuilder &t, Value cotangent) override;
  void storeFolds(TileBuilder &t, ValueRange folds) override;
  void finish() override;

private:
  void prepareWaves();
  void prepareTables();
  void prepareTurned();
  Value frequencyAt(Scalar &s, Value dim);
  Value amplitudeAt(Scalar &s, Value dim, bool ofSine);
  /// Emits sine and cosine of position * w.
  std::pair<Value, Value> waveAt(Scalar &s, Value position, Value dim);
  Value pairOf(Scalar &s, Value dim, int64_t which);

  const std::string half;        // the number of frequencies, a size expression
  Value frequencies, amplitudes; // [d] and [d, 2] (of sine and cosine), in f64
  Value even, odd;               // [r, d]: factors of q'_d in elements 2n and 2n + 1 of `turned`
  Value features;                // [c, d]
  Value turned, dTurned;         // [b, hq, r, d]
};

} // namespace

/// Returns the factor w of the angle.
Value AnglesTerm::frequencyAt(Scalar &s, Value dim) {
  TileParameters params(context, op.getBody().front(), op.getCaptures());
  params.compute = s.getF64Type();
  // At a distance of 1 the angle is w.
  IRMapping mapping = function.mapPoint(s, s.index(0), s.index(1), dim);
  return pe::emitScalar(op.getAngle(), mapping, s, params, params.compute);
}

/// Returns the coefficient of the sine (or cosine): the element with every sine 1 and every cosine
/// 0, or vice versa.
Value AnglesTerm::amplitudeAt(Scalar &s, Value dim, bool ofSine) {
  auto yield = cast<pe::YieldOp>(op.getBody().front().getTerminator());
  TileParameters params(context, op.getBody().front(), op.getCaptures());
  params.compute = s.getF64Type();
  IRMapping mapping = function.mapPoint(s, s.index(0), s.index(1), dim);
  for (Operation *inner : pe::collectSlice(yield.getValues()[0]))
    if (isa<math::SinOp, math::CosOp>(inner))
      mapping.map(inner->getResult(0),
                  s.number(isa<math::SinOp>(inner) == ofSine ? 1.0 : 0.0, s.getF64Type()));
  return pe::emitScalar(yield.getValues()[0], mapping, s, params, params.compute);
}

std::pair<Value, Value> AnglesTerm::waveAt(Scalar &s, Value position, Value dim) {
  return emitSineAndCosine(
      s, s.mul(s.toFloat(position, s.getF64Type()), readElement(s, frequencies, {dim})));
}

/// Returns dim 2n + `which` of the pair that contains `dim`.
Value AnglesTerm::pairOf(Scalar &s, Value dim, int64_t which) {
  Value two = s.index(2);
  Value first = s.mul(s.create<arith::DivUIOp>(dim, two), two);
  return which ? s.add(first, s.index(which)) : first;
}

void AnglesTerm::prepareWaves() {
  Type f64 = context.plan.getF64Type();
  frequencies = context.kept(name + "_frequencies", {depth()}, f64);
  amplitudes = context.kept(name + "_amplitudes", {depth(), "2"}, f64);
  TileBuilder t = beginStage(context.plan, name + "_prepare_waves", Phase::Prepare, {});
  t.foreach ({depth()}, [&](Scalar &s, ValueRange at) {
    writeElement(s, frequencyAt(s, at[0]), frequencies, {at[0]});
    writeElement(s, amplitudeAt(s, at[0], true), amplitudes, {at[0], s.index(0)});
    writeElement(s, amplitudeAt(s, at[0], false), amplitudes, {at[0], s.index(1)});
  });
}

void AnglesTerm::prepareTables() {
  even = context.kept(name + "_even", {"r", depth()});
  odd = context.kept(name + "_odd", {"r", depth()});
  features = context.kept(name + "_features", {"c", depth()});
  auto narrow = [](Scalar &s, Value value) -> Value {
    return s.create<arith::TruncFOp>(s.getF32Type(), value);
  };
  TileBuilder rows = beginStage(context.plan, name + "_prepare_rows", Phase::Prepare, {"r"});
  rows.foreach ({half}, [&](Scalar &s, ValueRange at) {
    Value first = s.mul(at[1], s.index(2));
    auto [sine, cosine] = waveAt(s, s.add(at[0], s.size("q_start")), first);
    for (Value dim : {first, s.add(first, s.index(1))}) {
      Value a = readElement(s, amplitudes, {dim, s.index(0)});
      Value b = readElement(s, amplitudes, {dim, s.index(1)});
      writeElement(s, narrow(s, s.add(s.mul(a, sine), s.mul(b, cosine))), even, {at[0], dim});
      writeElement(s, narrow(s, s.sub(s.mul(b, sine), s.mul(a, cosine))), odd, {at[0], dim});
    }
  });
  TileBuilder columns = beginStage(context.plan, name + "_prepare_columns", Phase::Prepare, {"c"});
  columns.foreach ({half}, [&](Scalar &s, ValueRange at) {
    Value first = s.mul(at[1], s.index(2));
    auto [sine, cosine] = waveAt(s, s.add(at[0], s.size("k_start")), first);
    writeElement(s, narrow(s, cosine), features, {at[0], first});
    writeElement(s, narrow(s, sine), features, {at[0], s.add(first, s.index(1))});
  });
}

void AnglesTerm::prepareTurned() {
  turned = context.kept(name + "_turned", {"b", "hq", "r", depth()});
  TileBuilder t = beginStage(context.plan, name + "_prepare_turned", Phase::Prepare, {"b", "hq"});
  t.foreach ({"r", half}, [&](Scalar &s, ValueRange at) {
    Value first = s.mul(at[3], s.index(2)), second = s.add(first, s.index(1));
    auto read = [&](Value dim) {
      return s.widen(readElement(s, queries.rows(), {at[0], at[1], at[2], dim}));
    };
    Value x = read(first), y = read(second);
    for (auto [dim, table] : {std::pair(first, even), std::pair(second, odd)}) {
      Value sum = s.add(s.mul(x, readElement(s, table, {at[2], first})),
                        s.mul(y, readElement(s, table, {at[2], second})));
      writeElement(s, s.mul(sum, s.number(scale * kLog2E)), turned, {at[0], at[1], at[2], dim});
    }
  });
}

LogicalResult AnglesTerm::prepare() {
  if (failed(function.derive()) || failed(queries.prepare()))
    return failure();
  prepareWaves();
  prepareTables();
  prepareTurned();
  if (context.grad)
    dTurned = context.temporary("d_" + name + "_turned", {"b", "hq", "r", depth()});
  return success();
}

Value AnglesTerm::emit(TileBuilder &t) {
  // Rows are loaded once, before the stream.
  TileBuilder before = t.at(OpBuilder(t.getInsertionBlock()->getParentOp()));
  Value rows = before.load(turned, {"r", depth()});
  return t.dot(rows, t.load(features, {"c", depth()}), depth());
}

SmallVector<Value> AnglesTerm::emitGradient(TileBuilder &t, Value cotangent) {
  return {t.dot(cotangent, t.load(features, {"c", depth()}), "c")};
}

void AnglesTerm::storeFolds(TileBuilder &t, ValueRange folds) {
  t.store(t.scaled(folds[0], scale), dTurned);
}

void AnglesTerm::finish() {
  TileBuilder t = beginStage(context.plan, name + "_finish_queries", Phase::Finish, {"b", "hq"});
  t.foreach ({"r", depth()}, [&](Scalar &s, ValueRange at) {
    auto read = [&](int64_t which) {
      return readElement(s, dTurned, {at[0], at[1], at[2], pairOf(s, at[3], which)});
    };
    Value sum = s.add(s.mul(read(0), readElement(s, even, {at[2], at[3]})),
                      s.mul(read(1), readElement(s, odd, {at[2], at[3]})));
    writeElement(s, sum, queries.gradient(), at);
  });
  queries.finish();
}

std::unique_ptr<ContentTerm> mlir::tile::createAnglesTerm(PlanContext &context, pe::ContentFnOp op,
                                                          const ContentSite &site,
                                                          std::string name) {
  return std::make_unique<AnglesTerm>(context, op, site, std::move(name));
}
