//===- RowValues.cpp - values of a strip of one row, with lanes along keys -===//
//
// The methods of StripValues if lanes are keys: values over r are scalars, values over c are
// vectors of keys, and panels are vectors along depth. Panels in scratch memory are padded to whole
// vectors; the padding is never stored to a buffer.
//
//===----------------------------------------------------------------------===//
#include "passes/ToCPU/StripValues.h"
#include "passes/ToCPU/VectorMath.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

void StripValues::beginKey(const Index &column) {
  columns.clear();
  maps.beginKey(column);
}

Value StripValues::rowScalar(Value value) {
  Emitter &e = context.e;
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return e.number(constant.getNumber().convertToDouble());
  if (spacesOf(value).isEmpty())
    return uniform(value);
  if (std::optional<Index> start = startOf(context, value))
    return e.toValue(place.row + *start);
  if (!rows.count(value))
    evaluateRow(value.getDefiningOp());
  return rows.find(value)->second[0];
}

Value StripValues::columnVector(Value value, const Index &column) {
  Emitter &e = context.e;
  Value &known = columns[value];
  if (known)
    return known;
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<ConstantOp>(op))
    return known = e.splat(constant.getNumber().convertToDouble());
  if (std::optional<Index> start = startOf(context, value))
    return known = e.create<arith::AddIOp>(e.iota(), e.splatIndex(column + *start));
  if (auto map = dyn_cast<MapOp>(op)) {
    maps.prepare(map);
    Value vector = maps.emit(map, 0, nullptr)[cast<OpResult>(value).getResultNumber()];
    return columns[value] = vector; // other columns may have been added
  }
  auto load = cast<LoadOp>(op);
  Place at = place.place();
  at.c = column;
  Value memory = context.memory(load.getBuffer());
  const Index from = context.offset(load.getBuffer(), at);
  known = place.masked ? e.loadLanes(memory, from, e.laneMask(context.columns - column))
                       : e.loadVector(memory, from);
  return known;
}

void StripValues::evaluateRow(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return evaluateRowReduce(reduce);
  if (auto load = dyn_cast<LoadOp>(op)) {
    if (!isRow(spacesOf(load.getValue())))
      return;
    Place at = place.place();
    at.kb = place.block / Index(context.cpu.keyBlock);
    return setRow(load.getValue(), context.e.load(context.memory(load.getBuffer()),
                                                  context.offset(load.getBuffer(), at)));
  }
  auto map = dyn_cast<MapOp>(op);
  if (!map || map.getOutputs().empty() || !isRow(spacesOf(map.getOutputs().front())))
    return;
  for (auto [output, scalar] : llvm::zip(map.getOutputs(), maps.emitScalars(map)))
    setRow(output, scalar);
}

void StripValues::eachVector(int64_t depth, llvm::function_ref<void(const Index &, Value)> body) {
  Emitter &e = context.e;
  const int64_t whole = depth / e.lanes * e.lanes;
  e.loop(0, whole, e.lanes, [&](Index d) { body(d, Value()); });
  if (whole != depth)
    body(whole, e.laneMask(depth - whole));
}

/// Lanes after the last depth count as the neutral element.
void StripValues::evaluateRowReduce(ReduceOp reduce) {
  Emitter &e = context.e;
  preparePanel(reduce.getInput());
  const bool adds = reduce.getKind() == Reduction::Add;
  const Value neutral = e.splat(adds ? 0.0 : -1.0e30);
  const int64_t depth = context.depthOf(spacesOf(reduce.getInput()));
  const int64_t whole = depth / e.lanes * e.lanes;
  auto combine = [&](Value a, Value b) { return adds ? e.add(a, b) : e.max(a, b); };
  Value lanes = e.loop(0, whole, e.lanes, neutral, [&](Index d, ValueRange sums) {
    return SmallVector<Value>{combine(sums[0], panelAt(reduce.getInput(), d, 0))};
  })[0];
  if (whole != depth) {
    Value rest = panelAt(reduce.getInput(), whole, 0);
    lanes = combine(lanes, e.select(e.laneMask(depth - whole), rest, neutral));
  }
  setRow(reduce.getOutput(), adds ? e.sumLanes(lanes) : emitMaxOfLanes(e, lanes));
}

void StripValues::packRow(LoadOp load, const Panel &panel) {
  Emitter &e = context.e;
  Value memory = context.memory(load.getBuffer());
  const Index base = context.offset(load.getBuffer(), place.place());
  eachVector(context.depthOf(spacesOf(load.getValue())), [&](const Index &d, Value some) {
    Value vector = some ? e.loadLanes(memory, base + d, some) : e.loadVector(memory, base + d);
    e.storeVector(vector, panel.memory, panel.at + d);
  });
  setPanel(load.getValue(), panel);
}

void StripValues::storeRowPanel(Value value, Value buffer) {
  Emitter &e = context.e;
  preparePanel(value);
  Value memory = context.memory(buffer);
  const Index base = context.offset(buffer, place.place());
  eachVector(context.depthOf(spacesOf(value)), [&](const Index &d, Value some) {
    Value vector = panelAt(value, d, 0);
    if (some)
      e.storeLanes(vector, memory, base + d, some);
    else
      e.storeVector(vector, memory, base + d);
  });
}
