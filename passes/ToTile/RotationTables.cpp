//===- RotationTables.cpp - cos and sin of the angles of rotations --------===//
#include "passes/ToTile/RotationTables.h"

#include "passes/ToTile/Terms.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

static constexpr int64_t kFine = 64;

TabulatedRotation::TabulatedRotation(PlanContext &context, pe::RotationOpInterface op,
                                     std::string name, RowDims dims, GivenPositions positions)
    : RowRotation(context, std::move(name)), op(op), dims(dims), positions(positions),
      hasAxes(op.getAxisPositions()), given(op.getTables()),
      pairs(op.getRotatedDims(dims.count) / 2), isPerHead(op.isPerHead()) {
  if (hasAxes)
    this->positions = {op.getAxisPositions().queries, op.getAxisPositions().keys};
  if (given)
    return;
  SmallVector<Type> leading(3, IndexType::get(op->getContext()));
  frequency.emplace(op, leading, [&](OpBuilder &builder, ValueRange at, ValueRange tensors) {
    pe::RotationPoint point{at[0], at[1], at[2], this->dims.count};
    return this->op.buildFrequency(builder, this->op->getLoc(), point, tensors);
  });
}

SmallVector<Value> TabulatedRotation::placeOf(ValueRange at) const {
  SmallVector<Value> place;
  if (positions.queries || given.hasBatch())
    place.push_back(at[0]);
  if (isPerHead)
    place.push_back(at[1]);
  place.append({at[2], at[3]});
  return place;
}

SmallVector<StringRef> TabulatedRotation::perHead(ArrayRef<StringRef> extents) const {
  SmallVector<StringRef> all;
  if (isPerHead)
    all.push_back("hq");
  llvm::append_range(all, extents);
  return all;
}

LogicalResult TabulatedRotation::prepare() {
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

void TabulatedRotation::copyTables(Side side) {
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

void TabulatedRotation::writeFrequencies(TileBuilder &t, Value frequencies) {
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
void TabulatedRotation::writeAngles(TileBuilder &t, Value frequencies, Value table, StringRef start,
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
void TabulatedRotation::combine(TileBuilder &t, Value coarse, Value fine, StringRef count,
                                RotationTables to) {
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
    ValuePair a = {readElement(s, coarse, place(block, zero)),
                   readElement(s, coarse, place(block, one))};
    ValuePair b = {readElement(s, fine, place(step, zero)), readElement(s, fine, place(step, one))};
    writeTurn(s, product(s, a, b), to, place(s.add(s.mul(block, s.index(kFine)), step), Value()));
  });
}

void TabulatedRotation::computeTables(Side side) {
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

Value TabulatedRotation::readPosition(Scalar &s, Side side, Value batch, Value row, Value pair) {
  SmallVector<Value> place = {batch, row};
  if (hasAxes)
    place.insert(place.begin(), op.buildAxis(s, s.getLoc(), pair, dims.count));
  Value number = readElement(s, context.parameters[positions.of(side)].buffer, place);
  Value position = s.create<arith::IndexCastOp>(s.getIndexType(), number);
  position = s.create<arith::MaxSIOp>(position, s.index(0));
  return s.create<arith::MinSIOp>(position, s.index((int64_t(1) << 30) - 1));
}

/// Adds the stages that compute the tables for given positions, which may be in any order. If a
/// call has many rows, cos and sin of a position below 64^2 come from those of its two digits.
void TabulatedRotation::computeTablesOfGiven(Side side) {
  const std::string prefix = name + "_" + side.singular().str() + "_rotation", count = pairCount();
  const std::string step = std::to_string(kFine), rows = side.rows().str();
  Type f64 = context.plan.getF64Type();
  Value frequencies = context.temporary(prefix + "_frequencies", perHead({count}), f64);
  Value digits = context.temporary(prefix + "_digits", perHead({"2", step, count, "2"}), f64);
  SmallVector<StringRef> over = {"b"}, extents = {"b"};
  llvm::append_range(over, perHead({}));
  llvm::append_range(extents, perHead({side.rows(), count}));
  RotationTables &tables = tablesOf(side);
  tables.cosine = context.kept(prefix + "_cosine", extents);
  tables.sine = context.kept(prefix + "_sine", extents);
  TileBuilder first = beginStage(context.plan, prefix + "_angles", Phase::Prepare, {});
  writeFrequencies(first, frequencies);
  auto begin = [&](StringRef suffix, ArrayRef<StringRef> over, bool hasManyRows) {
    return beginStage(context.plan, prefix + suffix.str(), Phase::Prepare, over, {},
                      hasManyRows ? rows + " - " + step : step + " + 1 - " + rows);
  };
  TileBuilder few = begin("_tables_few", over, /*hasManyRows=*/false);
  few.foreach ({rows, count}, [&](Scalar &s, ValueRange at) {
    Value position = readPosition(s, side, at[0], at.drop_back().back(), at.back());
    writeTurn(s, turnBy(s, position, readElement(s, frequencies, placeOfPair(at))), tables, at);
  });
  TileBuilder second = begin("_digits", {}, /*hasManyRows=*/true);
  writeDigits(second, frequencies, digits);
  TileBuilder many = begin("_tables", over, /*hasManyRows=*/true);
  many.foreach ({rows, count}, [&](Scalar &s, ValueRange at) {
    Value position = readPosition(s, side, at[0], at.drop_back().back(), at.back());
    combineDigits(s, position, frequencies, digits, tables, at);
  });
}

/// Writes cos and sin of n and 64 n times the frequencies for the digits n.
void TabulatedRotation::writeDigits(TileBuilder &t, Value frequencies, Value digits) {
  const std::string step = std::to_string(kFine), count = pairCount();
  t.foreach (perHead({"2", step, count}), [&](Scalar &s, ValueRange at) {
    Value digit = at.drop_back().back(), isHigh = at.drop_back(2).back();
    Value position = s.mul(digit, s.add(s.mul(isHigh, s.index(kFine - 1)), s.index(1)));
    SmallVector<Value> frequency(at.drop_back(3)), place(at);
    frequency.push_back(at.back());
    auto [cosine, sine] = turnBy(s, position, readElement(s, frequencies, frequency));
    place.push_back(s.index(0));
    writeElement(s, cosine, digits, place);
    place.back() = s.index(1);
    writeElement(s, sine, digits, place);
  });
}

/// Writes the element at `at` (batch, head if any, row, pair) of the tables from the digits of the
/// position, and from cos and sin of the part above them, if there is one.
void TabulatedRotation::combineDigits(Scalar &s, Value position, Value frequencies, Value digits,
                                      RotationTables to, ValueRange at) {
  Value fine = s.index(kFine), above = s.create<arith::DivUIOp>(position, fine);
  auto digitOf = [&](int64_t level, Value digit) {
    SmallVector<Value> place(placeOfPair(at));
    place.insert(place.end() - 1, {s.index(level), digit});
    place.push_back(s.index(0));
    Value cosine = readElement(s, digits, place);
    place.back() = s.index(1);
    return ValuePair{cosine, readElement(s, digits, place)};
  };
  Value high = s.create<arith::DivUIOp>(above, fine);
  ValuePair low = product(s, digitOf(0, s.create<arith::RemUIOp>(position, fine)),
                          digitOf(1, s.create<arith::RemUIOp>(above, fine)));
  writeTurn(s, low, to, at);
  Value isFar = s.create<arith::CmpIOp>(arith::CmpIPredicate::ne, high, s.index(0));
  auto branch = s.create<scf::IfOp>(isFar, /*withElseRegion=*/false);
  Scalar x(s.getLoc(), OpBuilder::atBlockBegin(branch.thenBlock()));
  ValuePair rest =
      turnBy(x, x.mul(high, x.index(kFine * kFine)), readElement(x, frequencies, placeOfPair(at)));
  writeTurn(x, product(x, low, rest), to, at);
}

/// Returns cos and sin of position * frequency.
ValuePair TabulatedRotation::turnBy(Scalar &s, Value position, Value frequency) {
  Value angle = s.mul(s.toFloat(position, s.getF64Type()), frequency);
  return {s.create<math::CosOp>(angle), s.create<math::SinOp>(angle)};
}

/// Returns cos and sin of the sum of two angles.
ValuePair TabulatedRotation::product(Scalar &s, ValuePair a, ValuePair b) {
  return {s.sub(s.mul(a.x, b.x), s.mul(a.y, b.y)), s.add(s.mul(a.y, b.x), s.mul(a.x, b.y))};
}

void TabulatedRotation::writeTurn(Scalar &s, ValuePair turn, RotationTables to, ValueRange at) {
  Value scale = s.number(op.getMagnitude(dims.count), s.getF64Type());
  for (auto [value, table] : {std::pair(turn.x, to.cosine), {turn.y, to.sine}})
    writeElement(s, s.create<arith::TruncFOp>(s.getF32Type(), s.mul(scale, value)), table, at);
}
