//===- BlockEmitter.cpp - points, loops and memory of a block -------------===//
#include "passes/ToLoops/BlockEmitter.h"

#include "dialect/Tile/Place.h"

using namespace mlir;
using namespace mlir::tile;

BlockEmitter::BlockEmitter(StageOp stage, const StageFunction &function, const LoopOptions &options)
    : builder(function.getLoc(), function.getBodyBuilder()), stage(stage), function(function),
      options(options) {}

Type mlir::tile::computationType(Type element) {
  return element.isF64() ? element : Type(Float32Type::get(element.getContext()));
}

Value BlockEmitter::number(double value, Type type) {
  Type wide = computationType(type ? type : builder.getF32Type());
  return arith::ConstantOp::create(builder, builder.getFloatAttr(wide, value));
}

Value BlockEmitter::convert(Value value, Type type) {
  auto from = dyn_cast<FloatType>(value.getType()), to = dyn_cast<FloatType>(type);
  if (from == to || !from || !to)
    return value;
  if (from.getWidth() < to.getWidth())
    return arith::ExtFOp::create(builder, to, value);
  auto rounding = arith::RoundingModeAttr();
  if (to.isTF32()) // rounds like passes/ToTile
    rounding =
        arith::RoundingModeAttr::get(builder.getContext(), arith::RoundingMode::to_nearest_away);
  return arith::TruncFOp::create(builder, to, value, rounding, arith::FastMathFlagsAttr());
}

Value BlockEmitter::index(int64_t value) { return arith::ConstantIndexOp::create(builder, value); }
Value BlockEmitter::size(StringRef expression) {
  return function.emitSize(builder, builder.getLoc(), expression);
}

//===- Loops -----------------------------------------------------------------===//

void BlockEmitter::forRange(Value count, llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(builder, index(0), count, index(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

Value BlockEmitter::foldRange(Value count, Value initial,
                              llvm::function_ref<Value(Value, Value)> body) {
  auto loop = scf::ForOp::create(builder, index(0), count, index(1), initial);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  scf::YieldOp::create(builder, body(loop.getInductionVar(), loop.getRegionIterArg(0)));
  return loop.getResult(0);
}

Value BlockEmitter::isBelowInEveryRow(double bound,
                                      llvm::function_ref<Value(const Point &)> element) {
  Value yes = arith::ConstantOp::create(builder, builder.getBoolAttr(true));
  return foldRange(position.rows, yes, [&](Value row, Value all) -> Value {
    Value below = arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT,
                                        element(Point().with("r", row)), number(bound));
    return arith::AndIOp::create(builder, all, below);
  });
}

Value BlockEmitter::extentOf(StringRef space) {
  return space == "r" ? position.rows : space == "c" ? position.columns : size(space);
}

void BlockEmitter::forEachPoint(const SpaceSet &spaces,
                                llvm::function_ref<void(const Point &)> body) {
  auto over = [&](ArrayRef<StringRef> names, const Point &point, auto &&self) -> void {
    if (names.empty())
      return body(point);
    forRange(extentOf(names.front()), [&](Value index) {
      self(names.drop_front(), point.with(names.front(), index), self);
    });
  };
  over(spaces.getNames(), Point(), over);
}

//===- Mask --------------------------------------------------------------------===//

Value BlockEmitter::callRow(const Point &point) {
  return arith::AddIOp::create(builder, position.firstRow, point.at("r"));
}
Value BlockEmitter::callColumn(const Point &point) {
  return arith::AddIOp::create(builder, position.firstColumn, point.at("c"));
}

Value BlockEmitter::insideMask(const Point &point) {
  Value i = arith::AddIOp::create(builder, callRow(point), size("q_start"));
  Value j = arith::AddIOp::create(builder, callColumn(point), size("k_start"));
  auto less = [&](Value a, Value b) {
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, a, b).getResult();
  };
  // A row at a negative position attends to nothing.
  Value inside = arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, i, index(0));
  auto keep = [&](Value condition) { inside = arith::AndIOp::create(builder, inside, condition); };
  const MaskBand band = stage.getBand();
  if (band.lower)
    keep(less(arith::SubIOp::create(builder, i, j), index(1 - *band.lower)));
  if (band.upper)
    keep(less(arith::SubIOp::create(builder, j, i), index(*band.upper)));
  if (stage.getLowColumns()) {
    auto bound = [&](Value buffer) -> Value {
      return arith::IndexCastOp::create(builder, builder.getIndexType(), readBuffer(buffer, point));
    };
    Value column = callColumn(point);
    keep(less(column, bound(stage.getHighColumns())));
    keep(arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, column,
                               bound(stage.getLowColumns())));
  }
  // All ops before the condition are elementwise, so it is defined at this point.
  Value condition = stage.getStream() ? stage.getStream().getCondition() : Value();
  if (condition && elements.contains(condition))
    keep(arith::CmpFOp::create(builder, arith::CmpFPredicate::UNE, at(condition, point),
                               number(0.0)));
  return inside;
}

void BlockEmitter::ifInsideMask(const Point &point, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, insideMask(point), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

//===- Memory --------------------------------------------------------------------===//

Value BlockEmitter::slotOf(SlotsAttr slots, StringRef count, const Point &point) {
  Value at = slots.getSide() == "r" ? callRow(point) : callColumn(point);
  Value block = arith::ConstantIndexOp::create(builder, slots.getBlock());
  Value number = arith::DivUIOp::create(builder, at, block);
  return arith::RemUIOp::create(builder, number, size(count));
}

Value BlockEmitter::pageOf(Value table, const Point &point) {
  Value number = arith::DivUIOp::create(builder, callColumn(point), size("page"));
  Value page =
      memref::LoadOp::create(builder, function.getView(table), ValueRange{position.b, number});
  return arith::IndexCastOp::create(builder, builder.getIndexType(), page);
}

SmallVector<Value> BlockEmitter::bufferIndices(Value buffer, const Point &point, ValueRange extra) {
  SmallVector<Value> indices;
  const SlotsAttr slots = slotsOf(buffer);
  const Value table = tableOf(buffer);
  for (StringAttr extent : cast<BufferType>(buffer.getType()).getExtents()) {
    StringRef name = extent.getValue();
    if (const PaddedExtent padded = paddedExtentOf(name); padded.block)
      name = padded.space;
    if (slots && indices.size() == 2) {
      indices.push_back(slotOf(slots, name, point));
    } else if (name == "b") {
      indices.push_back(position.b);
    } else if (name == "hq") {
      indices.push_back(position.hq);
    } else if (name == "hkv") {
      indices.push_back(position.hkv);
    } else if (name == "kb") {
      indices.push_back(position.keyBlock);
    } else if (name == "ks") {
      indices.push_back(position.split);
    } else if (name == "pages" && table) {
      indices.push_back(pageOf(table, point));
    } else if (name == "page" && table) {
      indices.push_back(
          arith::RemUIOp::create(builder, callColumn(point), size("page")).getResult());
    } else if (name == "r") {
      indices.push_back(callRow(point));
    } else if (name == "c") {
      indices.push_back(callColumn(point));
    } else if (Value index = point.at(name)) {
      indices.push_back(index);
    } else if (name == "t") {
      Value distance = arith::SubIOp::create(builder, callRow(point), callColumn(point));
      indices.push_back(arith::AddIOp::create(builder, distance, size("c-1")));
    } else {
      indices.push_back(extra.front());
      extra = extra.drop_front();
    }
  }
  return indices;
}

Value BlockEmitter::readBuffer(Value buffer, const Point &point, ValueRange extra) {
  return memref::LoadOp::create(builder, function.getView(buffer),
                                bufferIndices(buffer, point, extra));
}

void BlockEmitter::writeBuffer(Value value, Value buffer, const Point &point) {
  value = convert(value, cast<BufferType>(buffer.getType()).getElementType());
  memref::StoreOp::create(builder, value, function.getView(buffer), bufferIndices(buffer, point));
}

void BlockEmitter::addToBuffer(Value value, Value buffer, const Point &point, ValueRange extra) {
  emitAccumulation(builder, builder.getLoc(), value, function.getView(buffer),
                   bufferIndices(buffer, point, extra));
}

void BlockEmitter::defineInBuffer(Value value, Value buffer) {
  Type type = cast<ValType>(value.getType()).getElementType();
  define(value, [this, buffer, type](const Point &point) {
    return convert(readBuffer(buffer, point), type);
  });
}

Value BlockEmitter::getScratch(Value value) {
  Value &memory = scratch[value];
  if (memory)
    return memory;
  auto valueType = cast<ValType>(value.getType());
  SmallVector<int64_t> shape;
  for (StringRef space : valueType.getSpaces().getNames())
    shape.push_back(space == "r"   ? options.blockRows
                    : space == "c" ? options.blockColumns
                                   : sizeOfDepth(space, function.getPlan().getHeadDim(),
                                                 function.getPlan().getValueDim()));
  auto type = MemRefType::get(shape, valueType.getElementType());
  scratchBytes += type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  OpBuilder entry = function.getEntryBuilder();
  return memory = memref::AllocaOp::create(entry, builder.getLoc(), type);
}

SmallVector<Value> BlockEmitter::scratchIndices(const SpaceSet &spaces, const Point &point) {
  return llvm::map_to_vector(spaces.getNames(), [&](StringRef space) { return point.at(space); });
}

void BlockEmitter::defineInScratch(Value result) {
  Value memory = getScratch(result);
  const SpaceSet &spaces = spacesOf(result);
  define(result, [this, memory, spaces](const Point &point) -> Value {
    return memref::LoadOp::create(builder, memory, scratchIndices(spaces, point));
  });
}

void BlockEmitter::writeScratch(Value number, Value result, const Point &point) {
  auto type = cast<ValType>(result.getType());
  memref::StoreOp::create(builder, convert(number, type.getElementType()), getScratch(result),
                          scratchIndices(type.getSpaces(), point));
}

void BlockEmitter::compute(Value result, llvm::function_ref<Value(const Point &)> element) {
  forEachPoint(spacesOf(result),
               [&](const Point &point) { writeScratch(element(point), result, point); });
  defineInScratch(result);
}
