//===- Skeletons.cpp - the code that both skeletons share -----------------===//
#include "passes/ToCPU/Skeletons.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

LogicalResult mlir::tile::cpu::checkStage(StageOp stage, std::string &why) {
  RowInterface interface(stage, CpuSchedule());
  for (Operation *op : interface.before)
    if (!isa<LoadOp, ConstantOp, PositionOp, IndexOp, MapOp, ReduceOp>(op)) {
      why = "it has ops other than loads, maps and reductions before the stream";
      return failure();
    }
  WalkResult maps = stage.walk([&](MapOp map) {
    return failed(MapEmitter::check(map, why)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(maps.wasInterrupted());
}

Value Skeleton::isFull(const StripPlace &place) {
  const Index row = place.row, block = place.block;
  Index last = row + Index(context.cpu.stripRows() - 1),
        blockEnd = block + Index(context.cpu.keyBlock);
  auto keys = context.mask.columnsOfAll(row, last);
  auto atMost = [&](const Index &a, const Index &b) {
    return e.compare(arith::CmpIPredicate::sle, e.toValue(a), e.toValue(b));
  };
  Value full = e.less(last, context.rows);
  for (Value condition : {atMost(context.mask.rows.begin, row), atMost(keys.begin, block),
                          atMost(blockEnd, keys.end)})
    full = e.create<arith::AndIOp>(full, condition);
  return data.hasBounds() ? e.create<arith::AndIOp>(full, data.areAllWithin(place)) : full;
}

void Skeleton::visitStrip(StripPlace place, StripBody body) {
  if (!data.hasStates())
    return visitPairs(place, body, /*isEverywhere=*/Value());
  const StripPairs::States states = data.statesOf(place);
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

/// Emits `body` for full and for partial blocks. `isEverywhere` is true if the code of the mask
/// keeps all pairs, and null if the mask has no code.
void Skeleton::visitPairs(StripPlace place, StripBody body, Value isEverywhere) {
  const CpuSchedule &cpu = context.cpu;
  place.rowCount = rowsOfStrip(place.row);
  StripPlace full = place;
  full.masked = false;
  full.rowCount = cpu.stripRows();
  full.keyBegin = 0;
  full.keyEnd = cpu.keyBlock;
  auto partial = [&] {
    auto keys = context.mask.columnsOfAny(place.row, place.row + place.rowCount - Index(1));
    if (data.hasBounds()) {
      auto bounds = data.columnsOf(place);
      keys = {maxOf(keys.begin, bounds.begin), minOf(keys.end, bounds.end)};
    }
    int64_t unit = cpu.keyUnit();
    place.masked = true;
    place.keyBegin = roundDown(maxOf(0, keys.begin - place.block), unit);
    place.keyEnd = minOf(cpu.keyBlock, roundUp(maxOf(0, keys.end - place.block), unit));
    e.ifThen(e.less(place.keyBegin, place.keyEnd), [&] { body(place); });
  };
  if (context.stream.getCondition() && !isEverywhere)
    return partial();
  Value isWhole = isFull(place);
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
  // A row whose mass is NaN continues, because the gradients of all its keys are NaN.
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

void Skeleton::eachBlock(const Interval<Index> &keys, llvm::function_ref<void(Index)> body,
                         bool packs) {
  int64_t size = context.cpu.keyBlock;
  Index first = keys.begin / Index(size), end = ceilDiv(keys.end, size);
  bool descending = context.stream.getOrder() == Order::Descending;
  e.loop(descending ? Index(0) : first, descending ? end - first : end, 1, [&](Index i) {
    StripPlace place = start;
    place.block = (descending ? end - Index(1) - i : i) * Index(size);
    if (packs)
      context.packKeys(place.place());
    body(place.block);
  });
  context.forgetPacked();
}
