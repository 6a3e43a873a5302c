//===- Skeletons.cpp - what the two skeletons share -----------------------===//
#include "passes/ToCPU/Skeletons.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

LogicalResult mlir::tile::cpu::checkStage(StageOp stage, std::string &why) {
  RowInterface interface(stage);
  for (Operation *op : interface.before)
    if (!isa<LoadOp, ConstantOp, PositionOp, IndexOp, MapOp, ReduceOp, memref::AllocaOp>(op)) {
      why = "it computes more than maps and reductions before the stream";
      return failure();
    }
  WalkResult maps = stage.walk([&](MapOp map) {
    return failed(MapEmitter::check(map, why)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(maps.wasInterrupted());
}

Value Skeleton::isFull(const StripPlace &place, const std::optional<RowBounds> &bounds) {
  const Index row = place.row, block = place.block;
  Index last = row + Index(context.cpu.stripRows() - 1),
        blockEnd = block + Index(context.cpu.keyBlock);
  auto keys = context.mask.columnsOfAll(row, last);
  if (bounds)
    keys = {maxOf(keys.begin, bounds->all.begin), minOf(keys.end, bounds->all.end)};
  auto atMost = [&](const Index &a, const Index &b) {
    return e.compare(arith::CmpIPredicate::sle, e.toValue(a), e.toValue(b));
  };
  Value full = e.less(last, context.rows);
  for (Value condition : {atMost(context.mask.rows.begin, row), atMost(keys.begin, block),
                          atMost(blockEnd, keys.end)})
    full = e.create<arith::AndIOp>(full, condition);
  return full;
}

std::optional<Skeleton::RowBounds> Skeleton::boundsOf(StripPlace place) {
  if (!context.stage.getLowColumns())
    return std::nullopt;
  place.rowCount = rowsOfStrip(place.row);
  const Value buffers[] = {context.stage.getLowColumns(), context.stage.getHighColumns()};
  Value least[2], most[2]; // of the beginnings, of the ends
  for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
    Value exists = e.laneMask(place.rowCount - Index(v * e.lanes));
    for (auto [end, buffer] : llvm::enumerate(buffers)) {
      Value columns = loadColumns(context, place, buffer, v, exists);
      auto outside = [&](int32_t neutral) {
        return e.select(exists, columns, e.splatInt(neutral));
      };
      Value low = outside(INT32_MAX), high = outside(0);
      least[end] = least[end] ? e.create<arith::MinSIOp>(least[end], low) : low;
      most[end] = most[end] ? e.create<arith::MaxSIOp>(most[end], high) : high;
    }
  }
  auto reduced = [&](vector::CombiningKind kind, Value vector) {
    Value number = e.create<vector::ReductionOp>(kind, vector);
    return e.fromValue(e.create<arith::IndexCastOp>(e.getIndexType(), number));
  };
  using vector::CombiningKind;
  return RowBounds{
      {reduced(CombiningKind::MINSI, least[0]), reduced(CombiningKind::MAXSI, most[1])},
      {reduced(CombiningKind::MAXSI, most[0]), reduced(CombiningKind::MINSI, least[1])}};
}

Skeleton::States Skeleton::statesOf(const StripPlace &place) {
  const Value buffer = context.stage.getBlockStates();
  const Index begin = context.offset(buffer, place.place());
  const Index pitch = context.pitch(buffer);
  // How many blocks of states a side may touch: strips and blocks begin at multiples of their size.
  auto touched = [](int64_t size) {
    return kStateBlock % size == 0   ? 1
           : size % kStateBlock == 0 ? size / kStateBlock
                                     : size / kStateBlock + 2;
  };
  auto blockAt = [&](const Index &first, int64_t size, int64_t n, const Index &limit) {
    Index last = minOf(first + Index(size), limit) - Index(1);
    return minOf(first / Index(kStateBlock) + Index(n), last / Index(kStateBlock));
  };
  States found;
  for (int64_t r = 0; r < touched(context.cpu.stripRows()); ++r)
    for (int64_t c = 0; c < touched(context.cpu.keyBlock); ++c) {
      Index row = blockAt(place.row, context.cpu.stripRows(), r, context.rows);
      Index column = blockAt(place.block, context.cpu.keyBlock, c, context.columns);
      Value state = e.load(context.memory(buffer), begin + row * pitch + column);
      found.least = found.least ? e.create<arith::MinSIOp>(found.least, state) : state;
      found.most = found.most ? e.create<arith::MaxSIOp>(found.most, state) : state;
    }
  return found;
}

void Skeleton::visitStrip(StripPlace place, StripBody body) {
  if (!context.stage.getBlockStates())
    return visitPairs(place, body, /*isEverywhere=*/Value());
  const States states = statesOf(place);
  auto isState = [&](Value state, int64_t number) -> Value {
    Value expected = e.create<arith::ConstantOp>(e.getI32IntegerAttr(number));
    return e.create<arith::CmpIOp>(arith::CmpIPredicate::eq, state, expected);
  };
  e.ifThen(
      isState(states.most, 0),
      [&] {
        StripPlace skipped = place;
        skipped.rowCount = rowsOfStrip(place.row);
        storeSkippedSnapshots(skipped);
      },
      [&] { visitPairs(place, body, isState(states.least, 2)); });
}

/// `isEverywhere`: the code of the mask says true for all pairs; null without such code.
void Skeleton::visitPairs(StripPlace place, StripBody body, Value isEverywhere) {
  const CpuSchedule &cpu = context.cpu;
  const std::optional<RowBounds> bounds = boundsOf(place);
  StripPlace full = place;
  full.masked = false;
  full.rowCount = cpu.stripRows();
  full.keyBegin = 0;
  full.keyEnd = cpu.keyBlock;
  auto partial = [&] {
    place.rowCount = rowsOfStrip(place.row);
    auto keys = context.mask.columnsOfAny(place.row, place.row + place.rowCount - Index(1));
    if (bounds)
      keys = {maxOf(keys.begin, bounds->any.begin), minOf(keys.end, bounds->any.end)};
    int64_t unit = cpu.keyUnit();
    place.masked = true;
    place.keyBegin = roundDown(maxOf(0, keys.begin - place.block), unit);
    place.keyEnd = minOf(cpu.keyBlock, roundUp(maxOf(0, keys.end - place.block), unit));
    e.ifThen(e.less(place.keyBegin, place.keyEnd), [&] { body(place); });
  };
  if (context.stream.getCondition() && !isEverywhere)
    return partial();
  Value isWhole = isFull(place, bounds);
  if (isEverywhere)
    isWhole = e.create<arith::AndIOp>(isWhole, isEverywhere);
  e.ifThen(isWhole, [&] { body(full); }, partial);
}

void Skeleton::storeSkippedSnapshots(const StripPlace &place) {
  for (auto store : context.stream.getBody().getOps<StoreOp>()) {
    values.begin(place);
    values.storeZero(store, place.block / Index(context.cpu.keyBlock));
  }
}

void Skeleton::unlessStopped(const StripPlace &place, llvm::function_ref<Index(int64_t)> carryAt,
                             Value carryMemory, llvm::function_ref<void()> body,
                             llvm::function_ref<void()> skipped) {
  StreamOp stream = context.stream;
  Value buffer = stream.getSkipBuffer();
  if (!buffer && !stream.getStopCarry())
    return body();
  Index bufferAt = 0;
  if (buffer) {
    Place at = place.place();
    at.kb = place.block / Index(context.cpu.keyBlock);
    bufferAt = context.offset(buffer, at);
  }
  double bound = (buffer ? *stream.getSkipBelow() : *stream.getStopBelow()).convertToDouble();
  // A row whose mass is NaN continues: the gradients of all its keys are NaN.
  Value someGo;
  for (int64_t row = 0; row < context.cpu.stripRows(); row += e.lanes) {
    Value exists = e.laneMask(place.rowCount - Index(row));
    Value mass = buffer ? e.loadLanes(context.memory(buffer), bufferAt + Index(row), exists)
                        : e.select(exists, e.loadVector(carryMemory, carryAt(row)), e.splat(0.0));
    Value go = e.create<arith::CmpFOp>(arith::CmpFPredicate::UGE, mass, e.splat(bound));
    someGo = someGo ? e.create<arith::OrIOp>(someGo, go).getResult() : go;
  }
  Value goesOn = e.create<vector::ReductionOp>(vector::CombiningKind::OR, someGo);
  e.ifThen(goesOn, body, skipped);
}

void Skeleton::eachBlock(const Interval<Index> &keys, llvm::function_ref<void(Index)> body) {
  int64_t size = context.cpu.keyBlock;
  Index first = keys.begin / Index(size), end = ceilDiv(keys.end, size);
  bool descending = context.stream.getOrder() == Order::Descending;
  e.loop(descending ? Index(0) : first, descending ? end - first : end, 1,
         [&](Index i) { body((descending ? end - Index(1) - i : i) * Index(size)); });
}
