//===- PartialSums.cpp - sums that workers hold in parts ------------------===//
#include "passes/ToGPU/PartialSums.h"

#include "passes/ToGPU/KernelFunction.h"
#include "passes/ToGPU/LoopIndices.h"
#include "passes/ToLoops/StageFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

SmallVector<StringRef> mlir::tile::gpu::extentsOf(Value buffer) {
  SmallVector<StringRef> extents;
  for (StringAttr extent : cast<BufferType>(buffer.getType()).getExtents())
    extents.push_back(extent.getValue());
  return extents;
}

ForeachOp mlir::tile::gpu::addLoop(OpBuilder &builder, Location loc, ArrayRef<StringRef> extents) {
  auto made = ForeachOp::create(builder, loc, builder.getStrArrayAttr(extents));
  Block &body = made.getBody().emplaceBlock();
  for (size_t i = 0; i < extents.size(); ++i)
    body.addArgument(builder.getIndexType(), loc);
  builder.setInsertionPointToStart(&body);
  YieldOp::create(builder, loc);
  builder.setInsertionPointToStart(&body);
  return made;
}

/// Returns the neutral value of `kind`.
static TypedAttr neutralOf(Type type, Reduction kind) {
  Builder builder(type.getContext());
  if (auto integer = dyn_cast<IntegerType>(type)) {
    const unsigned width = integer.getWidth();
    return builder.getIntegerAttr(type, kind == Reduction::Add   ? APInt::getZero(width)
                                        : kind == Reduction::Max ? APInt::getSignedMinValue(width)
                                                                 : APInt::getSignedMaxValue(width));
  }
  return builder.getFloatAttr(type, kind == Reduction::Add   ? 0.0
                                    : kind == Reduction::Max ? -INFINITY
                                                             : INFINITY);
}

static Value neutral(OpBuilder &builder, Location loc, const Slots &slots) {
  return arith::ConstantOp::create(builder, loc, neutralOf(elementOf(slots.target), slots.kind));
}

void mlir::tile::gpu::addBeginStage(StageOp stage, ArrayRef<Slots> slots) {
  auto isSum = [](const Slots &s) { return s.kind == Reduction::Add; };
  if (llvm::all_of(slots, isSum))
    return;
  OpBuilder builder(stage);
  Location loc = stage.getLoc();
  tile::gpu::enterStage(builder, stage, "_begin");
  for (const Slots &s : llvm::make_filter_range(slots, std::not_fn(isSum)))
    for (Value buffer : {s.workers, s.groups}) {
      if (!buffer)
        continue;
      OpBuilder::InsertionGuard guard(builder);
      SmallVector<Value> at = tile::gpu::addElementLoop(builder, loc, buffer);
      WriteOp::create(builder, loc, neutral(builder, loc, s), buffer, at);
      YieldOp::create(builder, loc);
    }
}

/// Returns the part at `at` that lane `lane` adds: its worker's of a group, or that of a group.
static Value readPart(OpBuilder &builder, Location loc, const Slots &slots, Value group, Value lane,
                      ValueRange at) {
  SmallVector<Value> place = {group};
  llvm::append_range(place, at);
  if (!slots.groups)
    place.push_back(lane);
  return ReadOp::create(builder, loc, elementOf(slots.target),
                        slots.groups ? slots.groups : slots.workers, place, /*inbounds=*/true);
}

/// Combines the parts at `at` of a lane: those of its worker in each group, or every 32nd group.
/// Blocks of 256 parts are combined first, so that no row of additions is longer.
static Value combine(OpBuilder &builder, Location loc, const Slots &slots, ValueRange at,
                     Value lane) {
  constexpr int64_t kBlock = 256;
  const int64_t step = slots.groups ? kLanes : 1;
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto loop = [&](Value from, Value to, int64_t by, Value start) {
    auto made = scf::ForOp::create(builder, loc, from, to, constant(by), ValueRange{start});
    builder.setInsertionPointToStart(made.getBody());
    return made;
  };
  auto finish = [&](scf::ForOp made, Value part) {
    Value sum = emitReduction(builder, loc, slots.kind, made.getRegionIterArg(0), part);
    scf::YieldOp::create(builder, loc, sum);
    builder.setInsertionPointAfter(made);
    return made.getResult(0);
  };
  Value begin = neutral(builder, loc, slots);
  Value count = SizeOp::create(builder, loc, builder.getIndexType(), extentsOf(slots.workers)[0]);
  scf::ForOp blocks = loop(slots.groups ? lane : constant(0), count, kBlock * step, begin);
  Value first = blocks.getInductionVar();
  Value end = arith::AddIOp::create(builder, loc, first, constant(kBlock * step));
  scf::ForOp groups = loop(first, arith::MinUIOp::create(builder, loc, end, count), step, begin);
  Value part = readPart(builder, loc, slots, groups.getInductionVar(), lane, at);
  return finish(blocks, finish(groups, part));
}

StageOp PartialSums::lastStageOf(const Sums &sums) {
  StageOp last = sums.front().second.stage;
  for (const auto &[target, sum] : sums)
    if (last->isBeforeInBlock(sum.stage))
      last = sum.stage;
  return last;
}

void PartialSums::combineAll(OpBuilder &builder, const Sums &sums) {
  if (sums.empty())
    return;
  StageOp stage = lastStageOf(sums);
  Location loc = stage.getLoc();
  auto plan = stage->getParentOfType<PlanOp>();
  std::string suffix = "_workers";
  while (plan.lookupSymbol((stage.getSymName() + suffix).str()))
    suffix += "_more";
  tile::gpu::enterStage(builder, stage, suffix);
  for (const auto &[target, sum] : sums) {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<StringRef> extents = extentsOf(target);
    const std::string lanes = std::to_string(kLanes);
    extents.push_back(lanes);
    ForeachOp loop = addLoop(builder, loc, extents);
    ArrayRef<BlockArgument> at = loop.getBody().front().getArguments();
    Value lane = at.consume_back();
    const Reduction kind = sum.parts.front().kind;
    Value total;
    for (const Slots &part : sum.parts) {
      Value value = combine(builder, loc, part, at, lane);
      total = total ? emitReduction(builder, loc, kind, total, value) : value;
    }
    AccumulateOp::create(builder, loc, total, target, ValueRange(at), kind);
  }
}

void PartialSums::finishBefore(StageOp stage, ArrayRef<Slots> added) {
  llvm::SmallDenseSet<Value> needed;
  stage.walk([&](Operation *op) { needed.insert_range(op->getOperands()); });
  Sums ready;
  for (const auto &[target, sum] : pending) {
    const Reduction kind = sum.parts.front().kind;
    const bool differs = llvm::any_of(
        added, [&, t = target](const Slots &s) { return s.target == t && s.kind != kind; });
    StageOp last = sum.stage;
    if (differs || needed.contains(target) || last.getPhase() != stage.getPhase() ||
        last.getWhenAttr() != stage.getWhenAttr())
      ready.insert({target, sum});
  }
  OpBuilder builder(stage);
  combineAll(builder, ready);
  pending.remove_if([&](const auto &entry) { return ready.contains(entry.first); });
}

void PartialSums::add(StageOp stage, ArrayRef<Slots> slots) {
  for (const Slots &s : slots) {
    Sum &sum = pending[s.target];
    sum.stage = stage;
    sum.parts.push_back(s);
  }
}

void PartialSums::finish() {
  if (pending.empty())
    return;
  StageOp last = lastStageOf(pending);
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  combineAll(builder, pending);
  pending.clear();
}
