//===- Vectors.cpp - constants, masks, reductions, running maxima ---------===//
#include "passes/ToGPU/Emitters.h"
#include "passes/ToGPU/LaneSums.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

void mlir::tile::gpu::emitConstant(Scope &scope, ConstantOp op) {
  FragmentKernel &k = scope.k;
  auto type = cast<ValType>(op.getValue().getType());
  Value number = k.b.create<arith::ConstantOp>(
      k.b.getFloatAttr(type.getElementType(), op.getNumber().convertToDouble()));
  scope.set(op.getValue(), Registers(k.registersOf(type.getSpaces()), number));
}

//===- Positions -----------------------------------------------------------------===//

Num mlir::tile::gpu::indexAt(Scope &scope, Operation *op, llvm::function_ref<Num()> row,
                             llvm::function_ref<Num()> column) {
  FragmentKernel &k = scope.k;
  if (auto position = dyn_cast<PositionOp>(op))
    return position.getSpace() == "r" ? row() + k.mask.rowStart : column() + k.mask.columnStart;
  StringRef space = cast<IndexOp>(op).getSpace();
  return space == "b"    ? k.item.batch
         : space == "hq" ? scope.queryHead()
         : space == "r"  ? row()
                         : column();
}

void mlir::tile::gpu::emitIndices(Scope &scope, Operation *op) {
  FragmentKernel &k = scope.k;
  const SpaceSet &spaces = spacesOf(op->getResult(0));
  Registers result;
  for (int64_t i = 0, e = k.registersOf(spaces); i < e; ++i) {
    Element at = k.elementAt(spaces, i);
    result.push_back(k.b.toValue(
        indexAt(scope, op, [&] { return scope.rowAt(at); }, [&] { return scope.columnAt(at); })));
  }
  scope.set(op->getResult(0), std::move(result));
}

//===- Masks -------------------------------------------------------------------===//

/// Returns the bound of a row, or that of the last row for rows after it.
static Num boundOf(Scope &scope, Value buffer, const Num &row) {
  FragmentKernel &k = scope.k;
  Place place = scope.place();
  place.r = minOf(row, k.rows - Num(1));
  return k.b.fromValue(k.b.load(k.b.i32(), k.fn.address(buffer, place)));
}

RowBounds mlir::tile::gpu::loadRowBounds(Scope &scope) {
  FragmentKernel &k = scope.k;
  RowBounds bounds;
  if (!k.getStage().getLowColumns())
    return bounds;
  for (int64_t i = 0, e = k.registersOf({"r"}); i < e; ++i) {
    Num row = scope.rowAt(k.elementAt({"r"}, i));
    bounds.low.push_back(k.b.toValue(boundOf(scope, k.getStage().getLowColumns(), row)));
    bounds.high.push_back(k.b.toValue(boundOf(scope, k.getStage().getHighColumns(), row)));
  }
  return bounds;
}

Value mlir::tile::gpu::areBoundsFull(KernelBuilder &b, const RowBounds &bounds, const Num &column,
                                     const Num &columnEnd) {
  Value full = b.create<arith::ConstantOp>(b.getBoolAttr(true));
  for (auto [low, high] : llvm::zip(bounds.low, bounds.high)) {
    full = b.both(full, b.compare(arith::CmpIPredicate::sle, b.fromValue(low), column));
    full = b.both(full, b.compare(arith::CmpIPredicate::sle, columnEnd, b.fromValue(high)));
  }
  return full;
}

/// Returns true (an i1) if the pair exists and is inside the band.
static Value isInsideBand(FragmentKernel &k, const Num &row, const Num &column) {
  KernelBuilder &b = k.b;
  // The interval of the row, which is empty if the row does not exist or has no position.
  Value exists =
      b.both(b.less(row, k.rows), b.compare(arith::CmpIPredicate::sge, row, k.mask.rows.begin));
  Num end = k.mask.upper ? minOf(k.columns, row + *k.mask.upper) : k.columns;
  Value inside = b.less(column, b.pick(exists, end, Num(0)));
  if (k.mask.lower)
    inside = b.both(inside, b.compare(arith::CmpIPredicate::sge, column, row + *k.mask.lower));
  return inside;
}

static Value isBetween(KernelBuilder &b, const Num &column, const Num &low, const Num &high) {
  return b.both(b.compare(arith::CmpIPredicate::sge, column, low), b.less(column, high));
}

Value mlir::tile::gpu::isInside(Step &step, const Num &row, const Num &column) {
  FragmentKernel &k = step.k;
  Value inside = isInsideBand(k, row, column);
  if (!k.getStage().getLowColumns())
    return inside;
  Num low = boundOf(step, k.getStage().getLowColumns(), row),
      high = boundOf(step, k.getStage().getHighColumns(), row);
  return k.b.both(inside, isBetween(k.b, column, low, high));
}

Value mlir::tile::gpu::isInside(Step &step, const Element &at) {
  FragmentKernel &k = step.k;
  Num column = step.columnAt(at);
  Value inside = isInsideBand(k, step.rowAt(at), column);
  if (step.bounds().low.empty())
    return inside;
  const int64_t row = k.indexOf({"r"}, at);
  return k.b.both(inside, isBetween(k.b, column, k.b.fromValue(step.bounds().low[row]),
                                    k.b.fromValue(step.bounds().high[row])));
}

MapOp mlir::tile::gpu::mapOfCondition(StreamOp stream) {
  Value condition = stream.getCondition();
  auto map = condition ? condition.getDefiningOp<MapOp>() : MapOp();
  return map && condition.hasOneUse() && map.getNumResults() == 1 && !needsPairLoop(map) ? map
                                                                                         : MapOp();
}

void mlir::tile::gpu::emitMask(Step &step, MaskOp op) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const Registers &input = step.registers(op.getInput());
  SmallVector<Type> types(input.size(), input.front().getType());
  Value fill =
      b.create<arith::ConstantOp>(b.getFloatAttr(types.front(), op.getFill().convertToDouble()));
  Registers result = b.ifElse(
      step.isFull(), types, [&] { return Registers(input); },
      [&] {
        // Evaluated only here, so that it does not occupy registers for long.
        if (MapOp map = mapOfCondition(k.getStream()); map && op.getCondition())
          emitMap(step, map);
        Registers masked;
        for (auto [index, value] : llvm::enumerate(input)) {
          Value inside = isInside(step, k.elementAt({"r", "c"}, index));
          if (op.getCondition()) {
            Value where = step.registers(op.getCondition())[index];
            inside = b.both(
                inside, b.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, where, b.number(0.0)));
          }
          masked.push_back(b.select(inside, value, fill));
        }
        return masked;
      });
  step.set(op.getOutput(), std::move(result));
}

//===- Reductions ----------------------------------------------------------------===//

static Value combine(KernelBuilder &b, Reduction kind, Value x, Value y) {
  return kind == Reduction::Max ? b.max(x, y) : b.add(x, y);
}

/// Reduces over the inner side within the quad. Reduces over owners within lanes of equal t, then
/// over the warps through shared memory, in order.
void mlir::tile::gpu::reduceAcrossLanes(FragmentKernel &k, const SpaceSet &to, Reduction kind,
                                        Registers &values) {
  KernelBuilder &b = k.b;
  const bool acrossInner = k.isOwnerSide(to);
  for (Value &value : values)
    for (int mask :
         acrossInner ? std::initializer_list<int>{1, 2} : std::initializer_list<int>{4, 8, 16})
      value = combine(b, kind, value, b.shuffleXor(value, mask));
  if (acrossInner)
    return;
  const int64_t inner = k.schedule.innerBlock;
  const int64_t base = k.shared.allocate(k.schedule.warps * inner * 4);
  auto slot = [&](const Num &warp, const Element &at) {
    Num physical = k.t * Num(2) + Num(at.innerTile * 8 + at.innerHalf);
    return k.shared.at((warp * Num(inner) + physical) * Num(4) + Num(base));
  };
  for (auto [index, value] : llvm::enumerate(values))
    b.ifThen(b.less(k.lane, Num(4)),
             [&, i = index, v = value] { b.store(v, slot(k.warp, k.elementAt(to, i))); });
  b.barrier();
  for (auto [index, value] : llvm::enumerate(values)) {
    Element at = k.elementAt(to, index);
    value = b.load(b.f32(), slot(Num(0), at));
    for (int64_t w = 1; w < k.schedule.warps; ++w)
      value = combine(b, kind, value, b.load(b.f32(), slot(Num(w), at)));
  }
  b.barrier();
}

void mlir::tile::gpu::emitReduce(Step &step, ReduceOp op) {
  FragmentKernel &k = step.k;
  Reduction kind = op.getKind();
  const SpaceSet &to = spacesOf(op.getOutput());
  const Registers &input = step.registers(op.getInput());
  Registers result(k.registersOf(to));
  for (auto [index, value] : llvm::enumerate(input)) {
    Value &slot = result[k.indexOf(to, k.elementAt({"r", "c"}, index))];
    slot = slot ? combine(k.b, kind, slot, value) : value;
  }
  if (!isLaneSum(op))
    reduceAcrossLanes(k, to, kind, result);
  step.set(op.getOutput(), std::move(result));
}

//===- Running maxima --------------------------------------------------------------===//

namespace {

/// Emits a tile.rescale. The warp branches around the rows that raise their maximum, which is rare.
class RescaleWriter {
public:
  RescaleWriter(Step &step, RescaleOp op)
      : step(step), op(op), k(step.k), b(k.b), scores(step.registers(op.getScores())),
        maxima(step.registers(op.getMaximum())), unit(op.getUnit().convertToFloat()) {}

  void run();

private:
  Value scaled(Value x) { return op.mayBeLarge() ? b.mul(x, b.number(unit)) : x; }
  Value isLarge(Value scaledMaximum) {
    return b.compare(arith::CmpFPredicate::UGE, b.abs(scaledMaximum), b.number(RescaleOp::kLarge));
  }
  int64_t ownerOf(const SpaceSet &spaces, int64_t index) {
    return k.indexOf(spacesOf(op.getMaximum()), k.elementAt(spaces, index));
  }
  Registers largestOfLane();
  Registers raise(Registers largest);
  Registers keep();

  Step &step;
  RescaleOp op;
  FragmentKernel &k;
  KernelBuilder &b;
  const Registers &scores, &maxima;
  const double unit;
  Registers limits, offsets; // by row: the largest score that does not raise it
};

} // namespace

Registers RescaleWriter::largestOfLane() {
  Registers largest(maxima.size());
  for (auto [index, score] : llvm::enumerate(scores)) {
    Value &slot = largest[ownerOf(spacesOf(op.getScores()), index)];
    slot = slot ? b.max(slot, score) : score;
  }
  return largest;
}

/// Returns the results of a warp whose maxima stay.
Registers RescaleWriter::keep() {
  Registers results = maxima;
  llvm::append_range(results, offsets);
  if (op.mayBeLarge())
    llvm::append_range(results, scores);
  for (Value sum : op.getSums())
    llvm::append_range(results, step.registers(sum));
  return results;
}

/// Returns the results of a warp in which a maximum rises. The rows that keep theirs get the same
/// bits as in `keep`.
Registers RescaleWriter::raise(Registers largest) {
  reduceAcrossLanes(k, spacesOf(op.getMaximum()), Reduction::Max, largest);
  Registers results, factors, taken;
  for (auto [row, m] : llvm::enumerate(maxima)) {
    Value rises = b.compare(arith::CmpFPredicate::UGT, largest[row], limits[row]);
    results.push_back(b.select(rises, b.max(m, largest[row]), m));
    factors.push_back(b.exp2(scaled(b.sub(m, results[row]))));
  }
  for (size_t row = 0; row < maxima.size(); ++row) {
    Value offset = b.neg(scaled(results[row]));
    if (op.mayBeLarge()) {
      Value large = isLarge(offset);
      taken.push_back(b.select(large, results[row], b.number(0.0)));
      offset = b.select(large, b.number(0.0), offset);
    }
    results.push_back(offset);
  }
  if (op.mayBeLarge())
    for (auto [index, score] : llvm::enumerate(scores))
      results.push_back(b.sub(score, taken[ownerOf(spacesOf(op.getScores()), index)]));
  for (Value sum : op.getSums())
    for (auto [index, value] : llvm::enumerate(step.registers(sum)))
      results.push_back(b.mul(value, factors[ownerOf(spacesOf(sum), index)]));
  return results;
}

void RescaleWriter::run() {
  const Registers largest = largestOfLane();
  Value rises;
  for (auto [row, m] : llvm::enumerate(maxima)) {
    offsets.push_back(b.neg(scaled(m)));
    Value limit = b.add(m, b.number(op.getSlack().convertToFloat() / unit));
    if (op.mayBeLarge())
      limit = b.select(isLarge(offsets[row]), b.number(-INFINITY), limit);
    limits.push_back(limit);
    Value risesHere = b.compare(arith::CmpFPredicate::UGT, largest[row], limit);
    rises = rises ? b.create<arith::OrIOp>(rises, risesHere) : risesHere;
  }
  const Registers kept = keep();
  Registers results = b.ifElse(
      b.warpAny(rises), SmallVector<Type>(kept.size(), b.f32()), [&] { return raise(largest); },
      [&] { return kept; });
  ArrayRef<Value> rest = results;
  auto take = [&](Value value) {
    const size_t count = k.registersOf(spacesOf(value));
    step.set(value, Registers(rest.take_front(count)));
    rest = rest.drop_front(count);
  };
  take(op.getRaised());
  take(op.getOffset());
  if (op.mayBeLarge())
    take(op.getDifference());
  else
    step.set(op.getDifference(), Registers(scores));
  for (Value sum : op.getScaled())
    take(sum);
}

void mlir::tile::gpu::emitRescale(Step &step, RescaleOp op) { RescaleWriter(step, op).run(); }
