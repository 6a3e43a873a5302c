//===- MapEmitter.cpp - scalar regions on vectors -------------------------===//
#include "passes/ToCPU/MapEmitter.h"

#include "passes/ToCPU/VectorMath.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

//===- Dependence ------------------------------------------------------------===//

/// What every value of the map's region depends on.
void MapEmitter::analyse(MapOp map) {
  if (!analysed.insert(map).second)
    return;
  Block &body = map.getBody().front();
  unsigned inputs = map.getInputs().size();
  for (auto [index, input] : llvm::enumerate(map.getInputs())) {
    Spaces spaces = cast<ValType>(input.getType()).getSpaces();
    unsigned d = spaces == Spaces::H   ? kNothing
                 : spaces == Spaces::R ? kRow
                 : spaces == Spaces::C ? kColumn
                                       : kBoth;
    dependence[body.getArgument(index)] = d;
  }
  if (map.getPositions()) {
    dependence[body.getArgument(inputs + 2)] = kRow;
    dependence[body.getArgument(inputs + 3)] = kColumn;
  }
  for (Operation &op : body.without_terminator()) {
    unsigned d = kNothing;
    for (Value operand : op.getOperands())
      d |= dependenceOf(operand);
    for (Value value : op.getResults())
      dependence[value] = d;
  }
}

MapEmitter::Cache &MapEmitter::cacheOf(unsigned level, int64_t vector) {
  switch (level) {
  case kNothing:
    return uniforms;
  case kRow:
    return rows[vector];
  case kColumn:
    return columns;
  default:
    return elements;
  }
}

void MapEmitter::beginStrip(const StripPlace &newPlace) {
  place = newPlace;
  uniforms.clear(), columns.clear(), elements.clear();
  rows.assign(context.cpu.queryVectors, Cache());
}

void MapEmitter::beginKey(const Index &newColumn) {
  column = newColumn;
  columns.clear();
}

//===- Arguments ---------------------------------------------------------------===//

/// Gives the arguments of dependence `level` their values.
void MapEmitter::bindArguments(MapOp map, unsigned level, int64_t vector, ElementFn element) {
  Emitter &e = context.e;
  Block &body = map.getBody().front();
  unsigned inputs = map.getInputs().size();
  Cache &cache = cacheOf(level, vector);
  auto bind = [&](unsigned index, llvm::function_ref<Value()> make) {
    Value argument = body.getArgument(index);
    if (dependenceOf(argument) == level && (level == kBoth || !cache.count(argument)))
      cache[argument] = make();
  };
  for (auto [index, input] : llvm::enumerate(map.getInputs())) {
    Value value = input;
    bind(index, [&]() -> Value {
      if (level == kNothing)
        return source.uniform(value);
      if (level == kRow)
        return source.row(value, vector);
      return level == kColumn ? source.column(value, column) : element(value);
    });
  }
  if (!map.getPositions())
    return;
  bind(inputs, [&] { return e.toValue(place.b); });
  bind(inputs + 1, [&] { return e.toValue(place.hq); });
  bind(inputs + 2, [&]() -> Value {
    Index first = place.row + context.rowStart + Index(vector * e.lanes);
    return e.create<arith::AddIOp>(e.iota(), e.splatIndex(first));
  });
  bind(inputs + 3, [&] { return e.toValue(column + context.columnStart); });
}

Value MapEmitter::scalarOf(Value value) {
  unsigned level = dependenceOf(value);
  if (Operation *def = value.getDefiningOp();
      def && def->getParentOp() && !isa<MapOp>(def->getParentOp()))
    return context.e.constant(cast<TypedAttr>(def->getAttr("value")));
  return cacheOf(level, 0).lookup(value);
}

/// The value as a vector, whatever it depends on.
Value MapEmitter::lift(Value value, int64_t vector) {
  Emitter &e = context.e;
  unsigned level = dependenceOf(value);
  if (level & kRow)
    return cacheOf(level, vector).lookup(value);
  Value scalar = scalarOf(value);
  Attribute number;
  if (matchPattern(scalar, m_Constant(&number))) {
    if (auto real = dyn_cast<FloatAttr>(number); real && real.getType().isF32())
      return e.splat(real.getValueAsDouble());
    if (isa<IndexType>(scalar.getType()))
      return e.splatInt(cast<IntegerAttr>(number).getInt());
  }
  if (isa<IndexType>(scalar.getType()))
    return e.splatIndex(e.fromValue(scalar));
  return e.broadcast(scalar);
}

//===- Operations ----------------------------------------------------------------===//

void MapEmitter::emitScalar(Operation &op, unsigned level) {
  IRMapping mapping;
  for (Value operand : op.getOperands())
    if (!isa<BufferType>(operand.getType()))
      mapping.map(operand, scalarOf(operand));
  emitScalarOp(context.e, op, mapping, context.function);
  for (Value value : op.getResults())
    cacheOf(level, 0)[value] = mapping.lookup(value);
}

Value MapEmitter::emitGather(ReadOp read, ArrayRef<Value> indices) {
  Emitter &e = context.e;
  Value at = e.splatInt(0);
  for (auto [index, extent] : llvm::zip(indices, context.function.getExtents(read.getBuffer()))) {
    Index size = e.fromValue(extent);
    Value last = e.splatIndex(size - Index(1));
    Value clamped = e.create<arith::MaxSIOp>(e.create<arith::MinSIOp>(index, last), e.splatInt(0));
    at = e.create<arith::AddIOp>(e.create<arith::MulIOp>(at, e.splatIndex(size)), clamped);
  }
  Value everyLane = e.constant(DenseElementsAttr::get(e.vectorType(e.getI1Type()), true));
  VectorType type = e.vectorType(read.getValue().getType());
  Value zero = e.constant(cast<TypedAttr>(e.getZeroAttr(type)));
  return e.create<vector::GatherOp>(type, context.memory(read.getBuffer()),
                                    ValueRange{e.toValue(0)}, at, everyLane, zero);
}

/// One operation of one result on vectors.
Value MapEmitter::emitVectorOp(Operation &op, ArrayRef<Value> operands) {
  Emitter &e = context.e;
  Type element = op.getResult(0).getType();
  if (isa<math::Exp2Op>(op) && element.isF32())
    return emitExp2(e, context.cpu.exp2, operands[0]);
  if (isa<math::ExpOp>(op) && element.isF32())
    return emitExp(e, context.cpu.exp2, operands[0]);
  if (auto read = dyn_cast<ReadOp>(op))
    return emitGather(read, operands);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    Type from = op.getOperand(0).getType();
    Type source = isa<IndexType>(from) ? Type(e.getI32Type()) : from;
    Type target = isa<IndexType>(element) ? Type(e.getI32Type()) : element;
    unsigned wide = target.getIntOrFloatBitWidth(), narrow = source.getIntOrFloatBitWidth();
    if (wide == narrow)
      return operands[0];
    if (wide > narrow)
      return e.create<arith::ExtSIOp>(e.vectorType(target), operands[0]);
    return e.create<arith::TruncIOp>(e.vectorType(target), operands[0]);
  }
  OperationState state(e.getLoc(), op.getName());
  state.addOperands(operands);
  state.addTypes(e.vectorType(isa<IndexType>(element) ? Type(e.getI32Type()) : element));
  state.addAttributes(op.getAttrs());
  return e.OpBuilder::create(state)->getResult(0);
}

void MapEmitter::emitVector(Operation &op, unsigned level, int64_t vector) {
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    if (!isa<BufferType>(operand.getType()))
      operands.push_back(lift(operand, vector));
  Value result = emitVectorOp(op, operands);
  cacheOf(level, vector)[op.getResult(0)] = result;
}

/// Evaluates the operations of dependence `level` that were not evaluated yet.
void MapEmitter::emitOps(MapOp map, unsigned level, int64_t vector) {
  for (Operation &op : map.getBody().front().without_terminator()) {
    if (isa<AccumulateOp>(op))
      continue;
    Value value = op.getResult(0);
    if (dependenceOf(value) != level ||
        (level != kBoth && cacheOf(level, vector).count(value)))
      continue;
    if (level & kRow)
      emitVector(op, level, vector);
    else
      emitScalar(op, level);
  }
}

void MapEmitter::prepare(MapOp map) {
  analyse(map);
  bindArguments(map, kNothing, 0, nullptr);
  emitOps(map, kNothing, 0);
  for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
    bindArguments(map, kRow, v, nullptr);
    emitOps(map, kRow, v);
  }
}

SmallVector<Value> MapEmitter::emit(MapOp map, int64_t vector, ElementFn element) {
  bindArguments(map, kColumn, vector, nullptr);
  emitOps(map, kColumn, vector);
  elements.clear();
  bindArguments(map, kBoth, vector, element);
  emitOps(map, kBoth, vector);
  SmallVector<Value> results;
  for (Value value : map.getBody().front().getTerminator()->getOperands())
    results.push_back(lift(value, vector));
  return results;
}

SmallVector<Value> MapEmitter::emitScalars(MapOp map) {
  prepare(map);
  bindArguments(map, kColumn, 0, nullptr);
  emitOps(map, kColumn, 0);
  SmallVector<Value> results;
  for (Value value : map.getBody().front().getTerminator()->getOperands())
    results.push_back(scalarOf(value));
  return results;
}
