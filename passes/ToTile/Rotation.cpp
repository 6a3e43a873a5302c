//===- Rotation.cpp - rotating queries and keys outside the kernel --------===//
//
// x'_p = x_p cos - y_p sin, y'_p = y_p cos + x_p sin for the pairs of the rotation
// (docs/encodings/rotations.md). The gradient is mapped back by the transposed matrix. Angles are
// products of the position and a frequency in float64; cos and sin of position 64 m + n come from
// those of 64 m and n by the addition theorem, so that a call evaluates few of them. If cosines and
// sines are given, the rows of a call are copied from the caller's tensors.
//
// Gradients of frequencies: the angle of row i has the gradient t_i = x' dy' - y' dx'. Scores do
// not change if all rows are rotated by the same angle, so the t of all queries and keys of a head
// add up to 0. The sum of t_i times the position may therefore count positions from any origin; the
// position of the last query is used. A single query then only has the terms of its pairs, and a
// pair of equal positions adds nothing, not even a rounding error.
//
//===----------------------------------------------------------------------===//
#include "passes/ToTile/Prologue.h"
#include "passes/ToTile/Terms.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

constexpr int64_t kFine = 64;

/// A pair of elements, or its image.
struct Pair {
  Value x, y;
};

class RotationPrologue : public Prologue {
public:
  RotationPrologue(PlanContext &context, pe::RotationOpInterface op, std::string name,
                   GivenPositions positions);

  bool changes(Side) const override { return true; }
  LogicalResult prepare() override;
  void emit(Side side, Value from, Value to) override {
    turn(side, from, to, (name + "_rotate_" + side.word()).str(), Phase::Prepare, false);
  }
  void emitBack(Side side, Value rows, Value from, Value to) override;
  void finish() override;
  const RotationTables &getQueryTables() const { return queryTables; }

private:
  std::string pairCount() const { return std::to_string(pairs); }
  /// Returns `extents` of a table or loop, preceded by the head if frequencies depend on it.
  SmallVector<StringRef> perHead(ArrayRef<StringRef> extents) const;
  /// Returns the indices in the tables of a side; `at` is batch, head, row and pair.
  SmallVector<Value> placeOf(ValueRange at) const {
    SmallVector<Value> place;
    if (positions.queries || given.hasBatch())
      place.push_back(at[0]);
    if (isPerHead)
      place.push_back(at[1]);
    place.append({at[2], at[3]});
    return place;
  }
  Value readPosition(Scalar &s, Side side, Value batch, Value row) const;
  void copyTables(Side side);
  void computeTables(Side side);
  void computeTablesOfGiven(Side side);
  void writeFrequencies(TileBuilder &t, Value frequencies);
  void writeAngles(TileBuilder &t, Value frequencies, Value table, StringRef start, int64_t step,
                   StringRef count);
  void combine(TileBuilder &t, Value coarse, Value fine, StringRef count, RotationTables to);
  /// Returns the dims of pair number `pair`.
  std::pair<Value, Value> dimsOf(Scalar &s, Value pair) const;
  /// Reads the pair at `at` (batch, head, row, pair), widened.
  Pair readPair(Scalar &s, Value rows, ValueRange at) const;
  /// Reads the pair at `at` and rotates it.
  Pair turnedPair(Scalar &s, Side side, Value rows, ValueRange at, bool isBack = false);
  void turn(Side side, Value from, Value to, StringRef stage, Phase phase, bool isBack);
  void findOrigins();
  Value asOperand(Scalar &s, Value number) const;
  void addToFrequencies(Side side, Value rows, Value from);
  void addToTables(Side side, Value rows, Value from);

  pe::RotationOpInterface op;
  GivenPositions positions;
  pe::RotationTensors given; // null if frequencies are used
  std::optional<OpCode> frequency;
  int64_t pairs;
  bool interleaved, isPerHead;
  RotationTables queryTables, keyTables;
  Value sums;    // of gradients of frequencies, or null
  Value origins; // given position of the last query of each batch entry; null without positions
  RotationTables &tablesOf(Side side) { return side.isQueries ? queryTables : keyTables; }
};

RotationPrologue::RotationPrologue(PlanContext &context, pe::RotationOpInterface op,
                                   std::string name, GivenPositions positions)
    : Prologue(context, std::move(name)), op(op), positions(positions), given(op.getTables()),
      pairs(op.getRotatedDims(context.headDim) / 2), interleaved(op.isInterleavedPairs()),
      isPerHead(op.isPerHead()) {
  if (given)
    return;
  SmallVector<Type> leading(3, IndexType::get(op->getContext()));
  frequency.emplace(op, leading, [&](OpBuilder &builder, ValueRange at, ValueRange tensors) {
    pe::RotationPoint point{at[0], at[1], at[2], context.headDim};
    return this->op.buildFrequency(builder, this->op->getLoc(), point, tensors);
  });
}

//===- RotationTables -----------------------------------------------------------------===//

SmallVector<StringRef> RotationPrologue::perHead(ArrayRef<StringRef> extents) const {
  SmallVector<StringRef> all;
  if (isPerHead)
    all.push_back("hq");
  llvm::append_range(all, extents);
  return all;
}

LogicalResult RotationPrologue::prepare() {
  if (frequency && failed(frequency->differentiate()))
    return failure();
  for (Side side : {kQueries, kKeys})
    if (given)
      copyTables(side);
    else if (positions.queries)
      computeTablesOfGiven(side);
    else
      computeTables(side);
  return success();
}

void RotationPrologue::copyTables(Side side) {
  const std::string prefix = name + "_" + side.singular().str() + "_rotation", count = pairCount();
  RotationTables &tables = tablesOf(side);
  SmallVector<StringRef> extents = {side.rows(), count}, over;
  if (given.hasBatch()) {
    extents.insert(extents.begin(), "b");
    over.push_back("b");
  }
  tables.cosine = context.kept(prefix + "_cosine", extents);
  tables.sine = context.kept(prefix + "_sine", extents);
  TileBuilder t = beginStage(context.plan, prefix + "_tables", Phase::Prepare, over);
  t.foreach ({side.rows(), count}, [&](Scalar &s, ValueRange at) {
    // A query before the first position attends to nothing, so its rotation does not matter.
    SmallVector<Value> place(at);
    Value &position = place[place.size() - 2];
    position = s.add(position, s.size(side.start()));
    for (auto [from, to] : {std::pair(given.cosines, tables.cosine), {given.sines, tables.sine}})
      writeElement(s, readElement(s, context.parameters[from].buffer, place, /*inbounds=*/false),
                   to, at);
  });
}

void RotationPrologue::writeFrequencies(TileBuilder &t, Value frequencies) {
  t.foreach (perHead({pairCount()}), [&](Scalar &s, ValueRange at) {
    TileParameters params = frequency->parameters(context);
    params.compute = s.getF64Type();
    Value head = isPerHead ? at[0] : s.index(0);
    IRMapping mapping = frequency->mapLeading({head, at.back(), s.size("k_start + c")});
    writeElement(s, frequency->derivative().emitPrimal(s, mapping, params, s.getF64Type()),
                 frequencies, at);
  });
}

/// Writes cos and sin of position * frequency for `count` positions start + step * index.
void RotationPrologue::writeAngles(TileBuilder &t, Value frequencies, Value table, StringRef start,
                                   int64_t step, StringRef count) {
  t.foreach (perHead({count, pairCount()}), [&](Scalar &s, ValueRange at) {
    Value pair = at.back(), row = at.drop_back().back();
    Value position = s.mul(row, s.index(step));
    if (!start.empty())
      position = s.add(position, s.size(start));
    SmallVector<Value> place(at.drop_back(2)), target(at);
    place.push_back(pair);
    Value angle = s.mul(s.toFloat(position, s.getF64Type()), readElement(s, frequencies, place));
    target.push_back(s.index(0));
    writeElement(s, s.create<math::CosOp>(angle), table, target);
    target.back() = s.index(1);
    writeElement(s, s.create<math::SinOp>(angle), table, target);
  });
}

/// Writes the first `count` rows of every block.
void RotationPrologue::combine(TileBuilder &t, Value coarse, Value fine, StringRef count,
                               RotationTables to) {
  const double magnitude = op.getMagnitude(context.headDim);
  const std::string pairsText = pairCount();
  t.foreach ({count, pairsText}, [&](Scalar &s, ValueRange at) {
    // `at` is head (if any), block, position in the block, pair.
    SmallVector<Value> head(at.drop_back(3));
    Value block = at[head.size()], step = at[head.size() + 1], pair = at.back();
    auto place = [&](Value row, Value part) {
      SmallVector<Value> all(head);
      all.append({row, pair});
      if (part)
        all.push_back(part);
      return all;
    };
    Value zero = s.index(0), one = s.index(1);
    Value ca = readElement(s, coarse, place(block, zero));
    Value sa = readElement(s, coarse, place(block, one));
    Value cb = readElement(s, fine, place(step, zero));
    Value sb = readElement(s, fine, place(step, one));
    SmallVector<Value> target = place(s.add(s.mul(block, s.index(kFine)), step), Value());
    Value scale = s.number(magnitude, s.getF64Type());
    Value cosine = s.mul(scale, s.sub(s.mul(ca, cb), s.mul(sa, sb)));
    Value sine = s.mul(scale, s.add(s.mul(sa, cb), s.mul(ca, sb)));
    writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), cosine), to.cosine, target);
    writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), sine), to.sine, target);
  });
}

void RotationPrologue::computeTables(Side side) {
  const std::string prefix = name + "_" + side.singular().str() + "_rotation", count = pairCount();
  Type f64 = context.plan.getF64Type();
  const std::string blocks = ("ceildiv(" + side.rows() + "," + Twine(kFine) + ")").str();
  const std::string step = std::to_string(kFine), padded = blocks + "*" + step;
  // A decode step has one row: it needs one row of a block, and no sines of the others.
  const std::string filled = ("min(" + side.rows() + "," + step + ")").str();
  Value frequencies = context.temporary(prefix + "_frequencies", perHead({count}), f64);
  Value fine = context.temporary(prefix + "_fine", perHead({step, count, "2"}), f64);
  Value coarse = context.temporary(prefix + "_coarse", perHead({blocks, count, "2"}), f64);
  RotationTables &tables = tablesOf(side);
  tables.cosine = context.kept(prefix + "_cosine", perHead({padded, count}));
  tables.sine = context.kept(prefix + "_sine", perHead({padded, count}));

  TileBuilder t = beginStage(context.plan, prefix + "_angles", Phase::Prepare, {});
  writeFrequencies(t, frequencies);
  writeAngles(t, frequencies, fine, "", 1, filled);
  writeAngles(t, frequencies, coarse, side.start(), kFine, blocks);
  TileBuilder last =
      beginStage(context.plan, prefix + "_tables", Phase::Prepare, perHead({blocks}));
  combine(last, coarse, fine, filled, tables);
}

/// Reads a given position and clamps it to [0, 2^30), because the memory may hold any value.
Value RotationPrologue::readPosition(Scalar &s, Side side, Value batch, Value row) const {
  Value number = readElement(s, context.parameters[positions.of(side)].buffer, {batch, row});
  Value position = s.create<arith::IndexCastOp>(s.getIndexType(), number);
  position = s.create<arith::MaxSIOp>(position, s.index(0));
  return s.create<arith::MinSIOp>(position, s.index((int64_t(1) << 30) - 1));
}

/// Adds the stages that compute the tables for given positions. These may be in any order, so every
/// angle is computed separately.
void RotationPrologue::computeTablesOfGiven(Side side) {
  const std::string prefix = name + "_" + side.singular().str() + "_rotation", count = pairCount();
  const double magnitude = op.getMagnitude(context.headDim);
  Type f64 = context.plan.getF64Type();
  Value frequencies = context.temporary(prefix + "_frequencies", perHead({count}), f64);
  SmallVector<StringRef> over = perHead({}), extents = {"b"};
  over.insert(over.begin(), "b");
  llvm::append_range(extents, perHead({side.rows(), count}));
  RotationTables &tables = tablesOf(side);
  tables.cosine = context.kept(prefix + "_cosine", extents);
  tables.sine = context.kept(prefix + "_sine", extents);
  TileBuilder first = beginStage(context.plan, prefix + "_angles", Phase::Prepare, {});
  writeFrequencies(first, frequencies);
  TileBuilder t = beginStage(context.plan, prefix + "_tables", Phase::Prepare, over);
  t.foreach ({side.rows(), count}, [&](Scalar &s, ValueRange at) {
    Value row = at.drop_back().back(), pair = at.back();
    SmallVector<Value> place = {pair};
    if (isPerHead)
      place.insert(place.begin(), at[1]);
    Value position = s.toFloat(readPosition(s, side, at[0], row), f64);
    Value angle = s.mul(position, readElement(s, frequencies, place));
    Value scale = s.number(magnitude, f64);
    for (auto [value, table] :
         {std::pair<Value, Value>(s.create<math::CosOp>(angle), tables.cosine),
          {s.create<math::SinOp>(angle), tables.sine}})
      writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), s.mul(scale, value)), table, at);
  });
}

//===- Rotating ---------------------------------------------------------------===//

std::pair<Value, Value> RotationPrologue::dimsOf(Scalar &s, Value pair) const {
  if (!interleaved)
    return {pair, s.add(pair, s.index(pairs))};
  Value first = s.mul(pair, s.index(2));
  return {first, s.add(first, s.index(1))};
}

static SmallVector<Value> element(ValueRange at, Value dim) { return {at[0], at[1], at[2], dim}; }

Pair RotationPrologue::readPair(Scalar &s, Value rows, ValueRange at) const {
  auto [first, second] = dimsOf(s, at[3]);
  Value x = s.widen(readElement(s, rows, element(at, first)));
  return {x, s.widen(readElement(s, rows, element(at, second)))};
}

Pair RotationPrologue::turnedPair(Scalar &s, Side side, Value rows, ValueRange at, bool isBack) {
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
  const int64_t rest = context.headDim - 2 * pairs;
  if (rest)
    t.foreach ({side.rows(), std::to_string(rest)}, [&](Scalar &s, ValueRange at) {
      Value dim = s.add(at[3], s.index(2 * pairs));
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

static Pair widened(Scalar &s, Pair pair) {
  auto wide = [&](Value value) { return s.create<arith::ExtFOp>(s.getF64Type(), value); };
  return {wide(pair.x), wide(pair.y)};
}

/// Computes the given position of the last query, 0 without queries.
void RotationPrologue::findOrigins() {
  origins = context.temporary(name + "_origins", {"b"}, context.plan.getF64Type());
  TileBuilder t = beginStage(context.plan, name + "_find_origins", Phase::Finish, {"b"});
  t.foreach ({"1"}, [&](Scalar &s, ValueRange at) {
    Value last = sumOver(s, {"min(r,1)"}, [&](Scalar &x, ValueRange) {
      return x.toFloat(readPosition(x, kQueries, at[0], x.size("r - 1")), x.getF64Type());
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
    Value position = positions.queries ? readPosition(s, side, at[0], at[2]) : at[2];
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
        Pair old = readPair(x, rows, place), d = readPair(x, from, place);
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
  RotationPrologue prologue(context, op, std::move(name), {});
  if (failed(prologue.prepare()))
    return failure();
  return prologue.getQueryTables();
}

std::unique_ptr<Prologue> mlir::tile::createRotation(PlanContext &context,
                                                     pe::RotationOpInterface op, std::string name,
                                                     GivenPositions positions) {
  return std::make_unique<RotationPrologue>(context, op, std::move(name), positions);
}
