//===- StripPairs.cpp - data-dependent limits of a strip's pairs ----------===//
#include "passes/ToCPU/StripPairs.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;
using vector::CombiningKind;

bool StripPairs::dependOnHead() const {
  auto hasHead = [](Value buffer) {
    return buffer && llvm::any_of(cast<BufferType>(buffer.getType()).getExtents(),
                                  [](StringAttr extent) { return extent == "hq"; });
  };
  return hasHead(low) || hasHead(high) || hasHead(states);
}

//===- Bounds of rows ------------------------------------------------------------------===//

Interval<Index> StripPairs::columnsOf(const StripPlace &strip) {
  Value least, most;
  for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
    Value exists = e.laneMask(strip.rowCount - Index(v * e.lanes));
    Value begins = loadColumns(context, strip, low, v, exists);
    begins = e.select(exists, begins, e.splatInt(INT32_MAX));
    Value ends = loadColumns(context, strip, high, v, exists); // 0 if there is no row
    least = least ? e.create<arith::MinSIOp>(least, begins) : begins;
    most = most ? e.create<arith::MaxSIOp>(most, ends) : ends;
  }
  auto reduced = [&](CombiningKind kind, Value vector) {
    Value number = e.create<vector::ReductionOp>(kind, vector);
    return e.fromValue(e.create<arith::IndexCastOp>(e.getIndexType(), number));
  };
  return {reduced(CombiningKind::MINSI, least), reduced(CombiningKind::MAXSI, most)};
}

Value StripPairs::areAllWithin(const StripPlace &strip) {
  Value first = e.splatIndex(strip.block),
        end = e.splatIndex(strip.block + Index(context.cpu.keyBlock)), all;
  auto require = [&](Value condition) {
    all = all ? e.create<arith::AndIOp>(all, condition).getResult() : condition;
  };
  for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
    Value exists = e.laneMask(strip.rowCount - Index(v * e.lanes));
    require(
        e.compare(arith::CmpIPredicate::sle, loadColumns(context, strip, low, v, exists), first));
    require(
        e.compare(arith::CmpIPredicate::sge, loadColumns(context, strip, high, v, exists), end));
  }
  return e.create<vector::ReductionOp>(CombiningKind::AND, all);
}

//===- States of blocks ----------------------------------------------------------------===//

StripPairs::States StripPairs::statesOf(const StripPlace &strip) {
  const Index begin = context.offset(states, strip.place());
  const Index pitch = context.pitch(states);
  const StateBlock block = *context.stage.getStateBlock();
  const int64_t stripRows = context.cpu.stripRows(), keyBlock = context.cpu.keyBlock;
  States found;
  for (int64_t r = 0; r < countStates(stripRows, block.rows); ++r)
    for (int64_t c = 0; c < countStates(keyBlock, block.columns); ++c) {
      Index row = stateOf(strip.row, stripRows, block.rows, r, context.rows);
      Index column = stateOf(strip.block, keyBlock, block.columns, c, context.columns);
      Value state = e.load(context.memory(states), begin + row * pitch + column);
      found.least = found.least ? e.create<arith::MinSIOp>(found.least, state) : state;
      found.most = found.most ? e.create<arith::MaxSIOp>(found.most, state) : state;
    }
  return found;
}

//===- Rows that see a block -----------------------------------------------------------===//

Value StripPairs::meet(const StripPlace &strip) {
  Value some;
  if (hasBounds()) {
    Value first = e.splatIndex(strip.block),
          end = e.splatIndex(strip.block + Index(context.cpu.keyBlock));
    for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
      Value exists = e.laneMask(strip.rowCount - Index(v * e.lanes));
      Value begins =
          e.compare(arith::CmpIPredicate::slt, loadColumns(context, strip, low, v, exists), end);
      Value ends =
          e.compare(arith::CmpIPredicate::sgt, loadColumns(context, strip, high, v, exists), first);
      Value both = e.create<arith::AndIOp>(begins, ends);
      some = some ? e.create<arith::OrIOp>(some, both).getResult() : both;
    }
    some = e.create<vector::ReductionOp>(CombiningKind::OR, some);
  }
  if (hasStates()) {
    Value zero = e.create<arith::ConstantOp>(e.getI32IntegerAttr(0));
    Value isSome = e.compare(arith::CmpIPredicate::ne, statesOf(strip).most, zero);
    some = some ? e.create<arith::AndIOp>(some, isSome).getResult() : isSome;
  }
  return some;
}

Interval<Index> StripPairs::rowsSeeing(StripPlace strip, const Interval<Index> &rows) {
  const int64_t size = context.cpu.stripRows();
  auto visit = [&](Index row, ValueRange found) {
    strip.row = row;
    strip.rowCount = minOf(size, context.rows - row);
    Value meets = meet(strip);
    Value begin = e.create<arith::MinSIOp>(found[0], e.toValue(row));
    Value end = e.create<arith::MaxSIOp>(found[1], e.toValue(row + strip.rowCount));
    return SmallVector<Value>{e.select(meets, begin, found[0]), e.select(meets, end, found[1])};
  };
  SmallVector<Value> found =
      e.loop(rows.begin, rows.end, size, {e.toValue(context.rows), e.toValue(0)}, visit);
  return {e.fromValue(found[0]), minOf(rows.end, e.fromValue(found[1]))};
}
