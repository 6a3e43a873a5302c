//===- MapEmitter.cpp - scalar regions on vectors -------------------------===//
#include "passes/ToCPU/MapEmitter.h"

#include "dialect/Math/ScalarOps.h"
#include "passes/Scalar/OpShape.h"
#include "passes/Schedule/Schedule.h"
#include "passes/ToCPU/VectorMath.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

LogicalResult MapEmitter::check(MapOp map, std::string &why) {
  llvm::DenseSet<Value> bounded; // loop indices, which are the same for all rows
  WalkResult result = map.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool known =
        isa<scf::ForOp, scf::YieldOp, YieldOp, ReadOp, SizeOp, AccumulateOp, ScratchOp>(op) ||
        ::pe::math::findScalarOp(op->getName().getStringRef());
    if (auto loop = dyn_cast<scf::ForOp>(op))
      bounded.insert(loop.getInductionVar());
    auto access = [&](ValueRange indices, Value memory) {
      auto type = cast<MemRefType>(memory.getType());
      const Type element = type.getElementType();
      return type.hasStaticShape() && type.getRank() == 1 && (element.isF32() || element.isF64()) &&
             (bounded.contains(indices[0]) || matchPattern(indices[0], m_Constant()));
    };
    if (auto load = dyn_cast<memref::LoadOp>(op))
      known = access(load.getIndices(), load.getMemRef());
    if (auto store = dyn_cast<memref::StoreOp>(op))
      known = access(store.getIndices(), store.getMemRef());
    if (!known) {
      why = ("'" + op->getName().getStringRef() + "' has no vector form").str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

unsigned MapEmitter::dependenceOf(Value regionValue) {
  const unsigned varies = variation.of(regionValue);
  if (!context.cpu.isAlongKeys())
    return varies;
  return varies & kColumn ? kBoth : kNothing;
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
  uniforms.clear(), columns.clear(), elements.clear(), locals.clear();
  rows.assign(context.cpu.queryVectors, Cache());
}

void MapEmitter::beginKey(const Index &newColumn) {
  column = newColumn;
  columns.clear();
}

/// Converts a scalar or vector between f32 and a narrower type. Values of bf16 are kept in f32
/// outside the regions of maps.
static Value withElement(Emitter &e, Value value, Type element) {
  const Type from = getElementTypeOrSelf(value.getType());
  if (from == element || !isa<FloatType>(from) || !isa<FloatType>(element))
    return value;
  auto vector = dyn_cast<VectorType>(value.getType());
  const Type to = vector ? Type(vector.clone(element)) : element;
  if (from.getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth())
    return e.create<arith::TruncFOp>(to, value);
  return e.create<arith::ExtFOp>(to, value);
}

/// Returns the value outside a map of a region's result.
static Value outsideMap(Emitter &e, Value value) {
  const bool isNarrow = getElementTypeOrSelf(value.getType()).isBF16();
  return isNarrow ? withElement(e, value, e.getF32Type()) : value;
}

//===- Arguments ---------------------------------------------------------------===//

/// Binds the arguments of dependence `level` to their values.
void MapEmitter::bindArguments(MapOp map, unsigned level, int64_t vector, ElementFn element) {
  Block &body = map.getBody().front();
  Cache &cache = cacheOf(level, vector);
  // An element may be the result of another map, whose evaluation clears the elements.
  SmallVector<std::pair<Value, Value>> bound;
  auto bind = [&](unsigned index, llvm::function_ref<Value()> make) {
    Value argument = body.getArgument(index);
    if (dependenceOf(argument) == level && (level == kBoth || !cache.count(argument)))
      bound.emplace_back(argument, withElement(context.e, make(), argument.getType()));
  };
  for (auto [index, input] : llvm::enumerate(map.getInputs())) {
    Value value = input;
    bind(index, [&]() -> Value {
      if (level == kNothing)
        return source.uniform(value);
      if (level == kRow)
        return source.row(value, vector);
      const bool isOfColumn =
          level == kColumn || (context.cpu.isAlongKeys() && isColumn(spacesOf(value)));
      return isOfColumn ? source.column(value, column) : element(value);
    });
  }
  for (auto [argument, value] : bound)
    cache[argument] = value;
}

Value MapEmitter::scalarOf(Value value) {
  if (Value local = locals.lookup(value))
    return local;
  if (Value known = cacheOf(dependenceOf(value), 0).lookup(value))
    return known;
  // A constant from outside the region.
  Attribute number;
  matchPattern(value, m_Constant(&number));
  return context.e.constant(cast<TypedAttr>(number));
}

/// Returns the value as a vector, regardless of its dependences.
Value MapEmitter::lift(Value value, int64_t vector) {
  Emitter &e = context.e;
  if (Value element = elements.lookup(value))
    return element;
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

/// Emits an operation on scalars; `into` receives its results. If lanes are keys, a function of a
/// value of the row is that of vectors, with equal lanes: it has the same bits, and does not call
/// libm.
void MapEmitter::emitScalar(Operation &op, Cache &into) {
  Emitter &e = context.e;
  if (context.cpu.isAlongKeys() && isFunctionCall(&op) && op.getResult(0).getType().isF32()) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(lift(operand, 0));
    into[op.getResult(0)] = e.create<vector::ExtractOp>(emitVectorOp(op, operands), 0);
    return;
  }
  IRMapping mapping;
  for (Value operand : op.getOperands())
    if (!isa<BufferType>(operand.getType()))
      mapping.map(operand, scalarOf(operand));
  emitScalarOp(e, op, mapping, context.function);
  for (Value value : op.getResults())
    into[value] = mapping.lookup(value);
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

/// Emits the maximum or minimum with a constant that is not NaN as a single instruction, which
/// returns the other operand if that is NaN. Returns null for any other operation.
Value MapEmitter::emitLimit(Operation &op, ArrayRef<Value> operands) {
  Emitter &e = context.e;
  if (!isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    return {};
  for (unsigned n = 0; n < 2; ++n) {
    FloatAttr number;
    if (!matchPattern(op.getOperand(n), m_Constant(&number)) || number.getValue().isNaN())
      continue;
    Value limit = operands[n], other = operands[1 - n];
    return isa<arith::MaximumFOp>(op) ? e.larger(limit, other) : e.smaller(limit, other);
  }
  return {};
}

/// Emits an operation with one result on vectors.
Value MapEmitter::emitVectorOp(Operation &op, ArrayRef<Value> operands) {
  Emitter &e = context.e;
  Type element = op.getResult(0).getType();
  if (isa<math::Exp2Op>(op) && element.isF32())
    return op.hasAttr(kBelow127) ? emitExp2Below127(e, context.cpu.exp2(), operands[0])
                                 : emitExp2(e, context.cpu.exp2(), operands[0]);
  if (isa<math::ExpOp>(op) && element.isF32())
    return emitExp(e, context.cpu.exp2(), operands[0]);
  if (Value limited = emitLimit(op, operands))
    return limited;
  if (auto read = dyn_cast<ReadOp>(op))
    return emitGather(read, operands);
  return OpShape(e.lanes).create(e, e.getLoc(), op, operands);
}

void MapEmitter::emitVector(Operation &op, unsigned level, int64_t vector) {
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    if (!isa<BufferType>(operand.getType()))
      operands.push_back(lift(operand, vector));
  Value result = emitVectorOp(op, operands);
  cacheOf(level, vector)[op.getResult(0)] = result;
}

/// Evaluates the operations of dependence `level` (less than both) that are not evaluated yet.
void MapEmitter::emitOps(MapOp map, unsigned level, int64_t vector) {
  for (Operation &op : map.getBody().front().without_terminator()) {
    if (op.getNumResults() == 0 || dependenceOf(op.getResult(0)) != level ||
        isa<scf::ForOp, ScratchOp>(op) || cacheOf(level, vector).count(op.getResult(0)))
      continue;
    if (level & kRow)
      emitVector(op, level, vector);
    else
      emitScalar(op, cacheOf(level, 0));
  }
}

//===- Loops and memory ------------------------------------------------------------===//

/// Returns scratch with a vector for every element of the region's memory.
Value MapEmitter::scratchOf(Value memory) {
  Value &vectors = scratch[memory];
  auto type = cast<MemRefType>(memory.getType());
  if (!vectors)
    vectors = context.e.scratch(type.getNumElements() * context.e.lanes, type.getElementType());
  return vectors;
}

void MapEmitter::emitLoop(scf::ForOp loop, int64_t vector, AccumulateFn accumulate) {
  Emitter &e = context.e;
  auto bound = [&](Value value) { return e.fromValue(scalarOf(value)); };
  SmallVector<Value> inits;
  for (Value init : loop.getInitArgs())
    inits.push_back(lift(init, vector));
  SmallVector<Value> results =
      e.loop(bound(loop.getLowerBound()), bound(loop.getUpperBound()), bound(loop.getStep()), inits,
             [&](Index iv, ValueRange args) {
               locals[loop.getInductionVar()] = e.toValue(iv);
               for (auto [carried, arg] : llvm::zip(loop.getRegionIterArgs(), args))
                 elements[carried] = arg;
               for (Operation &op : loop.getBody()->without_terminator())
                 emitInPlace(op, vector, accumulate);
               SmallVector<Value> next;
               for (Value value : loop.getBody()->getTerminator()->getOperands())
                 next.push_back(lift(value, vector));
               return next;
             });
  for (auto [result, value] : llvm::zip(loop.getResults(), results))
    elements[result] = value;
}

/// Evaluates an operation for the current element, regardless of its dependences.
void MapEmitter::emitInPlace(Operation &op, int64_t vector, AccumulateFn accumulate) {
  Emitter &e = context.e;
  auto place = [&](ValueRange indices) {
    return e.fromValue(scalarOf(indices.front())) * Index(e.lanes);
  };
  if (isa<ScratchOp>(op)) // allocated at its first use
    return;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return emitLoop(loop, vector, accumulate);
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    elements[load] = e.loadVector(scratchOf(load.getMemRef()), place(load.getIndices()));
    return;
  }
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return e.storeVector(lift(store.getValue(), vector), scratchOf(store.getMemRef()),
                         place(store.getIndices()));
  if (auto sum = dyn_cast<AccumulateOp>(op))
    return accumulate(sum);
  if (dependenceOf(op.getResult(0)) & kRow)
    return emitVector(op, kBoth, vector);
  emitScalar(op, locals);
}

//===- Maps ------------------------------------------------------------------------===//

void MapEmitter::prepare(MapOp map) {
  variation.add(map);
  bindArguments(map, kNothing, 0, nullptr);
  emitOps(map, kNothing, 0);
  for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
    bindArguments(map, kRow, v, nullptr);
    emitOps(map, kRow, v);
  }
}

SmallVector<Value> MapEmitter::emit(MapOp map, int64_t vector, ElementFn element,
                                    AccumulateFn accumulate) {
  // A map over c that is an operand replaces the elements of this map, so it is evaluated first.
  if (context.cpu.isAlongKeys())
    for (Value input : map.getInputs())
      if (isColumn(spacesOf(input)))
        source.column(input, column);
  bindArguments(map, kColumn, vector, nullptr);
  emitOps(map, kColumn, vector);
  elements.clear(), locals.clear();
  bindArguments(map, kBoth, vector, element);
  for (Operation &op : map.getBody().front().without_terminator())
    if (op.getNumResults() == 0 || dependenceOf(op.getResult(0)) == kBoth)
      emitInPlace(op, vector, accumulate);
  SmallVector<Value> results;
  for (Value value : map.getBody().front().getTerminator()->getOperands())
    results.push_back(outsideMap(context.e, lift(value, vector)));
  return results;
}

SmallVector<Value> MapEmitter::emitScalars(MapOp map) {
  prepare(map);
  bindArguments(map, kColumn, 0, nullptr);
  emitOps(map, kColumn, 0);
  Block &body = map.getBody().front();
  auto isLoop = [&](Value value) { return dependenceOf(value) == kBoth; };
  if (context.cpu.isAlongKeys() && llvm::any_of(body.getTerminator()->getOperands(), isLoop)) {
    // Loops are over vectors, here with equal lanes.
    elements.clear(), locals.clear();
    for (Operation &op : body.without_terminator())
      if (op.getNumResults() == 0 || isLoop(op.getResult(0)))
        emitInPlace(op, 0, nullptr);
  }
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(outsideMap(
        context.e, elements.count(value) && isLoop(value)
                       ? context.e.create<vector::ExtractOp>(elements[value], 0).getResult()
                       : scalarOf(value)));
  return results;
}
