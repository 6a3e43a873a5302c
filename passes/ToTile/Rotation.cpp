//===- Rotation.cpp - rotating queries and keys outside the kernel --------===//
//
// x'_p = x_p cos - y_p sin, y'_p = y_p cos + x_p sin for the pairs of the rotation
// (docs/encodings/rotations.md). The gradient is mapped back by the transposed matrix.
//
// Gradients of frequencies: the angle of row i has the gradient t_i = x' dy' - y' dx'. Scores do
// not change if all rows are rotated by the same angle, so the t of all queries and keys of a head
// add up to 0. The sum of t_i times the position may therefore count positions from any origin; the
// position of the last query is used. A single query then only has the terms of its pairs, and a
// pair of equal positions adds nothing, not even a rounding error.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/RotationTables.h"
#include "passes/ToTile/Terms.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

class RotationPrologue : public TabulatedRotation {
public:
  RotationPrologue(PlanContext &context, pe::RotationOpInterface op, std::string name, RowDims dims,
                   GivenPositions positions)
      : TabulatedRotation(context, op, std::move(name), dims, positions),
        firstDim(op.getFirstDim(dims.count)), interleaved(op.isInterleavedPairs()) {}

  bool changes(Side) const override { return true; }
  void emit(Side side, Value from, Value to) override {
    turn(side, from, to, (name + "_rotate_" + side.word()).str(), Phase::Prepare, false);
  }
  void emitBack(Side side, Value rows, Value from, Value to) override;
  void finish() override;
  void turn(Side side, Value from, Value to, StringRef stage, Phase phase, bool isBack) override;

private:
  /// Returns the dims of pair number `pair`.
  std::pair<Value, Value> dimsOf(Scalar &s, Value pair) const;
  /// Reads the pair at `at` (batch, head, row, pair), widened.
  ValuePair readPair(Scalar &s, Value rows, ValueRange at) const;
  /// Reads the pair at `at` and rotates it.
  ValuePair turnedPair(Scalar &s, Side side, Value rows, ValueRange at, bool isBack = false);
  void findOrigins();
  Value asOperand(Scalar &s, Value number) const;
  void addToFrequencies(Side side, Value rows, Value from);
  void addToTables(Side side, Value rows, Value from);

  int64_t firstDim;
  bool interleaved;
  Value sums;    // of gradients of frequencies, or null
  Value origins; // given position of the last query of each batch entry; null without positions
};

//===- Rotating ---------------------------------------------------------------===//

std::pair<Value, Value> RotationPrologue::dimsOf(Scalar &s, Value pair) const {
  Value first = interleaved ? s.mul(pair, s.index(2)) : pair;
  if (firstDim)
    first = s.add(first, s.index(firstDim));
  return {first, s.add(first, s.index(interleaved ? 1 : pairs))};
}

static SmallVector<Value> element(ValueRange at, Value dim) { return {at[0], at[1], at[2], dim}; }

ValuePair RotationPrologue::readPair(Scalar &s, Value rows, ValueRange at) const {
  auto [first, second] = dimsOf(s, at[3]);
  Value x = s.widen(readElement(s, rows, element(at, first)));
  return {x, s.widen(readElement(s, rows, element(at, second)))};
}

ValuePair RotationPrologue::turnedPair(Scalar &s, Side side, Value rows, ValueRange at,
                                       bool isBack) {
  auto [x, y] = readPair(s, rows, at);
  Value cosine = readElement(s, tablesOf(side).cosine, placeOf(at));
  Value sine = readElement(s, tablesOf(side).sine, placeOf(at));
  if (isBack)
    sine = s.neg(sine);
  return {s.sub(s.mul(x, cosine), s.mul(y, sine)), s.add(s.mul(y, cosine), s.mul(x, sine))};
}

void RotationPrologue::turn(Side side, Value from, Value to, StringRef stage, Phase phase,
                            bool isBack) {
  TileBuilder t = beginStage(context.plan, stage, phase, {"b", side.heads()});
  t.foreach ({side.rows(), pairCount()}, [&](Scalar &s, ValueRange at) {
    auto [first, second] = dimsOf(s, at[3]);
    auto [x, y] = turnedPair(s, side, from, at, isBack);
    writeElement(s, s.round(x, elementOf(to)), to, element(at, first));
    writeElement(s, s.round(y, elementOf(to)), to, element(at, second));
  });
  const int64_t rest = dims.count - 2 * pairs;
  const int64_t first = firstDim ? 0 : 2 * pairs; // of the other dims
  if (rest)
    t.foreach ({side.rows(), std::to_string(rest)}, [&](Scalar &s, ValueRange at) {
      Value dim = s.add(at[3], s.index(first));
      Value same = s.widen(readElement(s, from, element(at, dim)));
      writeElement(s, s.round(same, elementOf(to)), to, element(at, dim));
    });
}

//===- Gradients --------------------------------------------------------------===//

void RotationPrologue::emitBack(Side side, Value rows, Value from, Value to) {
  turn(side, from, to, (name + "_rotate_back_" + side.word()).str(), Phase::Finish, true);
  if (given)
    addToTables(side, rows, from);
  else if (frequency->derivative().isActive())
    addToFrequencies(side, rows, from);
}

/// Rounds to the operand type of contractions. The scores are then exactly the scores of the
/// rounded values, and the t of a head add up to 0 for every type.
Value RotationPrologue::asOperand(Scalar &s, Value number) const {
  return s.widen(s.round(number, context.operands));
}

static ValuePair widened(Scalar &s, ValuePair pair) {
  auto wide = [&](Value value) { return s.create<arith::ExtFOp>(s.getF64Type(), value); };
  return {wide(pair.x), wide(pair.y)};
}

/// Computes the given position of the last query, 0 without queries.
void RotationPrologue::findOrigins() {
  origins = context.temporary(name + "_origins", {"b"}, context.plan.getF64Type());
  TileBuilder t = beginStage(context.plan, name + "_find_origins", Phase::Finish, {"b"});
  t.foreach ({"1"}, [&](Scalar &s, ValueRange at) {
    Value last = sumOver(s, {"min(r,1)"}, [&](Scalar &x, ValueRange) {
      return x.toFloat(readPosition(x, kQueries, at[0], x.size("r - 1"), Value()), x.getF64Type());
    });
    writeElement(s, last, origins, at[0]);
  });
}

void RotationPrologue::addToFrequencies(Side side, Value rows, Value from) {
  const std::string count = pairCount();
  if (positions.queries && !origins)
    findOrigins();
  if (!sums)
    sums = context.temporary(name + "_frequency_sums", perHead({count}), context.plan.getF64Type(),
                             /*zero=*/true);
  TileBuilder t =
      beginStage(context.plan, (name + "_turned_" + side.word()).str(), Phase::Finish, perHead({}));
  SmallVector<StringRef> loops = {"b", side.rows(), count};
  if (!isPerHead)
    loops.insert(loops.begin() + 1, side.heads());
  t.foreach (loops, [&](Scalar &s, ValueRange all) {
    SmallVector<Value> at(all); // batch, head, row, pair
    if (isPerHead)
      std::swap(at[0], at[1]);
    auto [dx, dy] = widened(s, readPair(s, from, at));
    auto [turnedX, turnedY] = turnedPair(s, side, rows, at);
    auto [x, y] = widened(s, {asOperand(s, turnedX), asOperand(s, turnedY)});
    Value byX = s.mul(dx, y), byY = s.mul(dy, x);
    Value position = positions.queries ? readPosition(s, side, at[0], at[2], at[3]) : at[2];
    if (!positions.queries)
      position = s.add(position, s.size(side.isQueries ? "1 - r" : "k_start - q_start - r + 1"));
    Value distance = s.toFloat(position, s.getF64Type());
    if (origins)
      distance = s.sub(distance, readElement(s, origins, at[0]));
    Value term = s.mul(s.sub(byY, byX), distance);
    SmallVector<Value> place = {at[3]};
    if (isPerHead)
      place.insert(place.begin(), at[1]);
    accumulateElement(s, term, sums, place);
  });
}

void RotationPrologue::addToTables(Side side, Value rows, Value from) {
  Parameter &cosines = context.parameters[given.cosines], &sines = context.parameters[given.sines];
  const SmallVector<StringRef> extents = cosines.extents();
  const bool hasBatch = given.hasBatch();
  SmallVector<StringRef> over = {extents[hasBatch ? 1 : 0]}, summed = {side.heads()};
  hasBatch ? over.insert(over.begin(), "b") : summed.insert(summed.begin(), "b");
  TileBuilder t =
      beginStage(context.plan, (name + "_turned_" + side.word()).str(), Phase::Finish, over);
  t.foreach ({pairCount()}, [&](Scalar &s, ValueRange at) {
    Value row = s.sub(at.drop_back().back(), s.size(side.start()));
    auto compare = [&](arith::CmpIPredicate predicate, Value bound) {
      return s.create<arith::CmpIOp>(predicate, row, bound);
    };
    Value isInside =
        s.create<arith::AndIOp>(compare(arith::CmpIPredicate::sge, s.index(0)),
                                compare(arith::CmpIPredicate::slt, s.size(side.rows())));
    auto branch = s.create<scf::IfOp>(isInside, /*withElseRegion=*/false);
    Scalar inner(s.getLoc(), OpBuilder::atBlockBegin(branch.thenBlock()));
    for (bool isSine : {false, true}) {
      Value sum = sumOver(inner, summed, [&](Scalar &x, ValueRange entry) {
        SmallVector<Value> place = {hasBatch ? at[0] : entry[0], entry.back(), row, at.back()};
        ValuePair old = readPair(x, rows, place), d = readPair(x, from, place);
        if (isSine)
          return x.sub(x.mul(old.x, d.y), x.mul(old.y, d.x));
        return x.add(x.mul(old.x, d.x), x.mul(old.y, d.y));
      });
      accumulateElement(inner, sum, (isSine ? sines : cosines).gradientSums, at);
    }
  });
}

void RotationPrologue::finish() {
  if (!sums)
    return;
  TileBuilder t = beginStage(context.plan, name + "_rotation_finish", Phase::Finish, {});
  t.foreach (perHead({pairCount()}), [&](Scalar &s, ValueRange at) {
    Value sum = readElement(s, sums, at);
    ifNonZero(s, sum, [&](Scalar &x) {
      TileParameters params = frequency->parameters(context);
      params.compute = x.getF64Type();
      Value head = isPerHead ? at[0] : x.index(0);
      IRMapping mapping = frequency->mapLeading({head, at.back(), x.size("k_start + c")});
      frequency->derivative().emitPrimal(x, mapping, params, x.getF64Type());
      frequency->derivative().emitAdjoint(x, mapping, sum, params);
    });
  });
}

} // namespace

FailureOr<RotationTables>
mlir::tile::prepareQueryTables(PlanContext &context, pe::RotationOpInterface op, std::string name) {
  RotationPrologue prologue(context, op, std::move(name), {context.headDim, "d"}, {});
  if (failed(prologue.prepare()))
    return failure();
  return prologue.getQueryTables();
}

std::unique_ptr<RowRotation> mlir::tile::createRotation(PlanContext &context,
                                                        pe::RotationOpInterface op,
                                                        std::string name, RowDims dims,
                                                        GivenPositions positions) {
  return std::make_unique<RotationPrologue>(context, op, std::move(name), dims, positions);
}
