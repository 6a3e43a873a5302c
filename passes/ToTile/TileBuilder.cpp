//===- TileBuilder.cpp - concise construction of tile IR ------------------===//
#include "passes/ToTile/TileBuilder.h"

using namespace mlir;
using namespace mlir::tile;

//===- Scalars ---===//

Value Scalar::index(int64_t value) { return create<arith::ConstantIndexOp>(value); }
Value Scalar::add(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return FloatBuilder::add(a, b);
  return create<arith::AddIOp>(a, b);
}
Value Scalar::sub(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return FloatBuilder::sub(a, b);
  return create<arith::SubIOp>(a, b);
}
Value Scalar::mul(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return FloatBuilder::mul(a, b);
  return create<arith::MulIOp>(a, b);
}
Value Scalar::approximateReciprocal(Value a) {
  return create<arith::DivFOp>(number(1.0), a, arith::FastMathFlags::afn);
}
Value Scalar::exp2Below127(Value a) {
  auto op = create<math::Exp2Op>(a);
  op->setDiscardableAttr(kBelow127, getUnitAttr());
  return op;
}
Value Scalar::size(StringRef expression) {
  return create<SizeOp>(getIndexType(), getStringAttr(expression));
}
Value Scalar::widen(Value value) {
  auto type = dyn_cast<FloatType>(value.getType());
  if (!type || type.getWidth() >= 32)
    return value;
  return create<arith::ExtFOp>(getF32Type(), value);
}
Value Scalar::round(Value value, Type type) {
  if (value.getType() == type)
    return value;
  auto rounding = arith::RoundingModeAttr();
  if (type.isTF32()) // the only rounding that every chip has an instruction for
    rounding = arith::RoundingModeAttr::get(getContext(), arith::RoundingMode::to_nearest_away);
  return create<arith::TruncFOp>(type, value, rounding, arith::FastMathFlagsAttr());
}
Value Scalar::toFloat(Value index, Type type) {
  Value wide = create<arith::IndexCastOp>(getI64Type(), index);
  return create<arith::SIToFPOp>(type, wide);
}

//===- Tile ops ---===//

BufferType TileBuilder::bufferType(ArrayRef<StringRef> extents, Type element) {
  SmallVector<StringAttr> names;
  for (StringRef extent : extents)
    names.push_back(getStringAttr(extent));
  return BufferType::get(getContext(), names, element ? element : Type(getF32Type()));
}

Value TileBuilder::constant(double number, const SpaceSet &spaces) {
  return create<ConstantOp>(type(spaces), getF64FloatAttr(number));
}
Value TileBuilder::load(Value buffer, const SpaceSet &spaces) {
  Type element = elementOf(buffer);
  const bool isWidened = widens && (element.isBF16() || element.isF16());
  return create<LoadOp>(type(spaces, isWidened ? Type(getF32Type()) : element), buffer);
}
void TileBuilder::store(Value value, Value buffer) {
  create<StoreOp>(widens ? value : rounded(value, elementOf(buffer)), buffer);
}

Value TileBuilder::position(StringRef space) {
  return create<PositionOp>(type({space}, getIndexType()), getStringAttr(space));
}
Value TileBuilder::index(StringRef space) {
  const bool isLine = space == "r" || space == "c";
  return create<IndexOp>(type(isLine ? SpaceSet{space} : SpaceSet{}, getIndexType()),
                         getStringAttr(space));
}

namespace {

/// Creates a map and its body block, with one scalar per input.
MapOp createMap(TileBuilder &t, ValueRange inputs, TypeRange results) {
  MapOp map = t.create<MapOp>(results, inputs);
  Block &block = map.getBody().emplaceBlock();
  for (Value input : inputs)
    block.addArgument(elementOf(input), t.getLoc());
  return map;
}

/// Returns the values that the body of a map uses: its inputs, floats widened to f32.
SmallVector<Value> argumentsOf(Scalar &s, MapOp map) {
  return llvm::map_to_vector(map.getBody().front().getArguments(),
                             [&](Value argument) { return s.widen(argument); });
}

void dropUnusedInputs(MapOp map) {
  Block &block = map.getBody().front();
  for (unsigned i = map.getInputs().size(); i-- > 0;) {
    if (!block.getArgument(i).use_empty())
      continue;
    Operation *source = map.getInputs()[i].getDefiningOp();
    block.eraseArgument(i);
    map.getInputsMutable().erase(i);
    // The point of a pair is created only for the map. Other values may be used again.
    if (isa_and_present<PositionOp, IndexOp>(source) && isOpTriviallyDead(source))
      source->erase();
  }
}

} // namespace

Value TileBuilder::rounded(Value value, Type element) {
  if (elementOf(value) == element)
    return value;
  MapOp map = createMap(*this, value, TypeRange{type(spacesOf(value), element)});
  Scalar s(getLoc(), OpBuilder::atBlockEnd(&map.getBody().front()));
  s.create<YieldOp>(s.round(map.getBody().front().getArgument(0), element));
  return map.getResult(0);
}

SmallVector<Value> TileBuilder::mapMany(ValueRange inputs, const SpaceSet &spaces, unsigned results,
                                        ScalarFns body) {
  SmallVector<Type> types(results, type(spaces));
  MapOp map = createMap(*this, inputs, types);
  Scalar s(getLoc(), OpBuilder::atBlockEnd(&map.getBody().front()));
  s.create<YieldOp>(body(s, argumentsOf(s, map)));
  dropUnusedInputs(map);
  return SmallVector<Value>(map.getResults());
}

Value TileBuilder::map(ValueRange inputs, const SpaceSet &spaces, ScalarFn body) {
  return mapMany(inputs, spaces, 1,
                 [&](Scalar &s, ValueRange v) { return SmallVector<Value>{body(s, v)}; })
      .front();
}

void TileBuilder::eachPair(ValueRange inputs, llvm::function_ref<void(Scalar &, ValueRange)> body) {
  MapOp map = createMap(*this, inputs, TypeRange());
  Scalar s(getLoc(), OpBuilder::atBlockEnd(&map.getBody().front()));
  body(s, argumentsOf(s, map));
  s.create<YieldOp>(ValueRange());
  if (isMemoryEffectFree(map)) // for example a capture that only has its size read
    map.erase();
  else
    dropUnusedInputs(map);
}

Value TileBuilder::scaled(Value input, double factor) {
  return map(input, spacesOf(input),
             [&](Scalar &s, ValueRange v) { return s.mul(v[0], s.number(factor)); });
}

Value TileBuilder::mask(Value input, double fill, Value condition) {
  return create<MaskOp>(input.getType(), input, getF64FloatAttr(fill), condition);
}

Value TileBuilder::reduce(Reduction kind, StringRef axis, Value input) {
  return create<ReduceOp>(type(spacesOf(input).without(axis)), kind, getStringAttr(axis), input);
}

Value TileBuilder::dot(Value lhs, Value rhs, StringRef axis, Value init) {
  const SpaceSet result = spacesOf(lhs).join(spacesOf(rhs)).without(axis);
  return create<DotOp>(type(result), lhs, rhs, getStringAttr(axis), init);
}

std::pair<Value, Value> TileBuilder::scan(ScanKind kind, Order order, Value a, Value b, Value carry,
                                          bool exclusive) {
  ScanOp scan = create<ScanOp>(a.getType(), carry.getType(), kind, order, a, b, carry, exclusive);
  return {scan.getResult(), scan.getCarryOut()};
}

StreamOp TileBuilder::stream(Order order, ValueRange carries, TypeRange folds,
                             llvm::function_ref<SmallVector<Value>(TileBuilder &, ValueRange)> body,
                             bool overSplits) {
  SmallVector<Type> types(carries.getTypes());
  types.append(folds.begin(), folds.end());
  StreamOp stream = create<StreamOp>(types, order, carries, IntegerAttr(), FloatAttr(), FloatAttr(),
                                     /*skip_buffer=*/Value(), overSplits);
  Block &block = stream.getBody().emplaceBlock();
  for (Value carry : carries)
    block.addArgument(carry.getType(), getLoc());
  TileBuilder inner = at(OpBuilder::atBlockEnd(&block));
  inner.create<YieldOp>(body(inner, block.getArguments()));
  return stream;
}

ForeachOp TileBuilder::foreach (ArrayRef<StringRef> over,
                                llvm::function_ref<void(Scalar &, ValueRange)> body) {
  auto stage = cast<StageOp>(getInsertionBlock()->getParentOp());
  ForeachOp loop = create<ForeachOp>(getStrArrayAttr(over));
  Block &block = loop.getBody().emplaceBlock();
  for (size_t i = 0; i < stage.getOver().size() + over.size(); ++i)
    block.addArgument(getIndexType(), getLoc());
  Scalar s(getLoc(), OpBuilder::atBlockEnd(&block));
  body(s, block.getArguments());
  s.create<YieldOp>(ValueRange());
  return loop;
}

Value mlir::tile::readElement(Scalar &s, Value buffer, ValueRange indices, bool inbounds) {
  return s.create<ReadOp>(cast<BufferType>(buffer.getType()).getElementType(), buffer, indices,
                          inbounds);
}
void mlir::tile::writeElement(Scalar &s, Value value, Value buffer, ValueRange indices) {
  s.create<WriteOp>(value, buffer, indices);
}
void mlir::tile::accumulateElement(Scalar &s, Value value, Value buffer, ValueRange indices,
                                   Reduction kind, bool own) {
  s.create<AccumulateOp>(value, buffer, indices, kind, own);
}
