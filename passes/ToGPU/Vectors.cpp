//===- Vectors.cpp - constants, masks, reductions, scans ------------------===//
#include "passes/ToGPU/FragmentKernel.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

void mlir::tile::gpu::emitConstant(FragmentKernel &k, ConstantOp op) {
  auto type = cast<ValType>(op.getValue().getType());
  Value number = k.b.create<arith::ConstantOp>(
      k.b.getFloatAttr(type.getElementType(), op.getNumber().convertToDouble()));
  k.set(op.getValue(), Registers(k.registersOf(type.getSpaces()), number));
}

//===- Positions -----------------------------------------------------------------===//

Num mlir::tile::gpu::indexAt(FragmentKernel &k, Operation *op, llvm::function_ref<Num()> row,
                             llvm::function_ref<Num()> column) {
  if (auto position = dyn_cast<PositionOp>(op))
    return position.getSpace() == "r" ? row() + k.mask.rowStart : column() + k.mask.columnStart;
  StringRef space = cast<IndexOp>(op).getSpace();
  return space == "b" ? k.batch : space == "hq" ? k.queryHead : space == "r" ? row() : column();
}

void mlir::tile::gpu::emitIndices(FragmentKernel &k, Operation *op) {
  const SpaceSet &spaces = spacesOf(op->getResult(0));
  Registers result;
  for (int64_t i = 0, e = k.registersOf(spaces); i < e; ++i) {
    Element at = k.elementAt(spaces, i);
    result.push_back(
        k.b.toValue(indexAt(k, op, [&] { return k.rowAt(at); }, [&] { return k.columnAt(at); })));
  }
  k.set(op->getResult(0), std::move(result));
}

//===- Masks -------------------------------------------------------------------===//

/// The bound of a row, which may be one behind the last.
static Num boundOf(FragmentKernel &k, Value buffer, const Num &row) {
  Place place = k.place();
  place.r = minOf(row, k.rows - Num(1));
  return k.b.fromValue(k.b.load(k.b.i32(), k.fn.address(buffer, place)));
}

void mlir::tile::gpu::loadRowBounds(FragmentKernel &k) {
  k.lowColumns.clear(), k.highColumns.clear();
  if (!k.stage.getLowColumns())
    return;
  for (int64_t i = 0, e = k.registersOf({"r"}); i < e; ++i) {
    Num row = k.rowAt(k.elementAt({"r"}, i));
    k.lowColumns.push_back(k.b.toValue(boundOf(k, k.stage.getLowColumns(), row)));
    k.highColumns.push_back(k.b.toValue(boundOf(k, k.stage.getHighColumns(), row)));
  }
}

Value mlir::tile::gpu::areBoundsFull(FragmentKernel &k, const Num &column, const Num &columnEnd) {
  KernelBuilder &b = k.b;
  Value full = b.create<arith::ConstantOp>(b.getBoolAttr(true));
  for (auto [low, high] : llvm::zip(k.lowColumns, k.highColumns)) {
    full = b.both(full, b.compare(arith::CmpIPredicate::sle, b.fromValue(low), column));
    full = b.both(full, b.compare(arith::CmpIPredicate::sle, columnEnd, b.fromValue(high)));
  }
  return full;
}

/// Whether the pair exists and is inside the band.
static Value isInsideBand(FragmentKernel &k, const Num &row, const Num &column) {
  KernelBuilder &b = k.b;
  // The interval of the row, empty where the row does not exist or has no position.
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

Value mlir::tile::gpu::isInside(FragmentKernel &k, const Num &row, const Num &column) {
  Value inside = isInsideBand(k, row, column);
  if (!k.stage.getLowColumns())
    return inside;
  Num low = boundOf(k, k.stage.getLowColumns(), row),
      high = boundOf(k, k.stage.getHighColumns(), row);
  return k.b.both(inside, isBetween(k.b, column, low, high));
}

Value mlir::tile::gpu::isInside(FragmentKernel &k, const Element &at) {
  Num column = k.columnAt(at);
  Value inside = isInsideBand(k, k.rowAt(at), column);
  if (k.lowColumns.empty())
    return inside;
  const int64_t row = k.indexOf({"r"}, at);
  return k.b.both(inside, isBetween(k.b, column, k.b.fromValue(k.lowColumns[row]),
                                    k.b.fromValue(k.highColumns[row])));
}

void mlir::tile::gpu::emitMask(FragmentKernel &k, MaskOp op) {
  KernelBuilder &b = k.b;
  Registers &input = k.registers(op.getInput());
  SmallVector<Type> types(input.size(), input.front().getType());
  Value fill =
      b.create<arith::ConstantOp>(b.getFloatAttr(types.front(), op.getFill().convertToDouble()));
  Registers result = b.ifElse(
      k.isFull, types, [&] { return Registers(input); },
      [&] {
        Registers masked;
        for (auto [index, value] : llvm::enumerate(input))
          masked.push_back(b.select(isInside(k, k.elementAt({"r", "c"}, index)), value, fill));
        return masked;
      });
  k.set(op.getOutput(), std::move(result));
}

//===- Reductions ----------------------------------------------------------------===//

static Value combine(KernelBuilder &b, Reduction kind, Value x, Value y) {
  return kind == Reduction::Max ? b.max(x, y) : b.add(x, y);
}

/// Over the inner side: the quad. Over owners: lanes of equal t, then the warps through shared
/// memory in their order.
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
  const int64_t base = k.allocate(k.schedule.warps * inner * 4);
  auto slot = [&](const Num &warp, const Element &at) {
    Num physical = k.t * Num(2) + Num(at.innerTile * 8 + at.innerHalf);
    return b.shared(k.fn.shared(), (warp * Num(inner) + physical) * Num(4) + Num(base));
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

void mlir::tile::gpu::emitReduce(FragmentKernel &k, ReduceOp op) {
  Reduction kind = op.getKind();
  const SpaceSet &to = spacesOf(op.getOutput());
  Registers &input = k.registers(op.getInput());
  Registers result(k.registersOf(to));
  for (auto [index, value] : llvm::enumerate(input)) {
    Value &slot = result[k.indexOf(to, k.elementAt({"r", "c"}, index))];
    slot = slot ? combine(k.b, kind, slot, value) : value;
  }
  reduceAcrossLanes(k, to, kind, result);
  k.set(op.getOutput(), std::move(result));
}

//===- Scans -----------------------------------------------------------------------===//

namespace {

/// x -> a * x + b, or a * x where b is null.
struct Step {
  Value a, b;
};

Value apply(KernelBuilder &b, const Step &step, Value x) {
  return step.b ? b.fma(step.a, x, step.b) : b.mul(step.a, x);
}

/// First `first`, then `second`.
Step then(KernelBuilder &b, const Step &first, const Step &second) {
  return {b.mul(second.a, first.a), second.b ? b.fma(second.a, first.b, second.b) : Value()};
}

} // namespace

void mlir::tile::gpu::emitScan(FragmentKernel &k, ScanOp op) {
  KernelBuilder &b = k.b;
  const bool ascending = op.getOrder() == Order::Ascending;
  Registers &a = k.registers(op.getA());
  Registers *plus = op.getB() ? &k.registers(op.getB()) : nullptr;
  Registers &carries = k.registers(op.getCarryIn());
  Registers result(a.size()), carryOut(carries.size());
  const int64_t perLane = 2 * k.layout.innerTiles();
  for (int64_t owner = 0; owner < static_cast<int64_t>(carries.size()); ++owner) {
    Element at = k.elementAt({k.rowsOwn ? "r" : "c"}, owner);
    // Registers of this owner in the order of the scan.
    SmallVector<int64_t> order;
    for (int64_t n = 0; n < perLane; ++n) {
      const int64_t inner = ascending ? n : perLane - 1 - n;
      at.innerTile = inner / 2, at.innerHalf = inner % 2;
      order.push_back(k.indexOf({"r", "c"}, at));
    }
    auto stepOf = [&](int64_t index) { return Step{a[index], plus ? (*plus)[index] : Value()}; };
    Step whole = stepOf(order.front());
    for (int64_t index : ArrayRef(order).drop_front())
      whole = then(b, whole, stepOf(index));
    // The four lanes of the quad, in the order of the scan; every lane computes the same.
    Num quad = k.lane - k.t;
    Value x = carries[owner], before = x;
    for (int n = 0; n < 4; ++n) {
      const int64_t from = ascending ? n : 3 - n;
      Step lane{b.shuffleFrom(whole.a, quad + Num(from)),
                whole.b ? b.shuffleFrom(whole.b, quad + Num(from)) : Value()};
      before = b.select(b.compare(arith::CmpIPredicate::eq, k.t, Num(from)), x, before);
      x = apply(b, lane, x);
    }
    carryOut[owner] = x;
    for (int64_t index : order) {
      Value after = apply(b, stepOf(index), before);
      result[index] = op.getExclusive() ? before : after;
      before = after;
    }
  }
  k.set(op.getResult(), std::move(result));
  k.set(op.getCarryOut(), std::move(carryOut));
}
