//===- LoopWorkers.cpp - long sums divided among threads ------------------===//
#include "passes/ToGPU/LoopWorkers.h"

#include "passes/ToLoops/StageFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

/// The number that an extent is, or nothing where it is known at run time only.
static std::optional<int64_t> constantOf(StringRef extent) {
  int64_t size;
  return extent.getAsInteger(10, size) ? std::nullopt : std::optional(size);
}

/// Heads are few; rows, columns and distances are many.
static bool isFew(StringRef extent) {
  return constantOf(extent) || extent == "hq" || extent == "hkv" || extent == "b";
}

/// Constant extents multiplied; those that are not constant do not count.
static int64_t constantProduct(ArrayRef<StringRef> extents) {
  int64_t product = 1;
  for (StringRef extent : extents)
    product *= constantOf(extent).value_or(1);
  return product;
}

static SmallVector<StringRef> extentsOf(Value buffer) {
  SmallVector<StringRef> extents;
  for (StringAttr extent : cast<BufferType>(buffer.getType()).getExtents())
    extents.push_back(extent.getValue());
  return extents;
}

/// The buffers that the loop adds to, if that is all it does with what it changes.
static std::optional<llvm::SetVector<Value>> findTargets(ForeachOp loop) {
  llvm::SetVector<Value> targets;
  bool writes = false;
  loop.walk([&](Operation *op) {
    writes |= isa<WriteOp>(op);
    if (auto sum = dyn_cast<AccumulateOp>(op))
      targets.insert(sum.getBuffer());
  });
  loop.walk([&](ReadOp read) { writes |= targets.contains(read.getBuffer()); });
  if (writes || targets.empty())
    return std::nullopt;
  return targets;
}

std::optional<LoopWorkers> LoopWorkers::create(StageOp stage, ForeachOp loop,
                                               const llvm::SmallBitVector &parallel) {
  constexpr int64_t kManyThreads = 1024, kManyElements = 4096;
  SmallVector<StringRef> divided;
  bool isLong = false;
  auto extents = getStrings(stage.getOver());
  llvm::append_range(extents, getStrings(loop.getOver()));
  for (auto [index, extent] : llvm::enumerate(extents)) {
    if (parallel[index])
      divided.push_back(extent);
    else
      isLong |= !constantOf(extent);
  }
  const bool hasThreads = !llvm::all_of(divided, isFew) || constantProduct(divided) >= kManyThreads;
  std::optional<llvm::SetVector<Value>> targets = findTargets(loop);
  if (!isLong || hasThreads || !targets)
    return std::nullopt;
  for (Value target : *targets) {
    SmallVector<StringRef> slot = extentsOf(target);
    if (!llvm::all_of(slot, isFew) || constantProduct(slot) > kManyElements)
      return std::nullopt;
    for (Operation *user : target.getUsers()) {
      auto other = user->getParentOfType<ForeachOp>();
      if (other && other != loop && other->getParentOp() == stage && loop->isBeforeInBlock(other) &&
          !isa<AccumulateOp>(user))
        return std::nullopt;
    }
  }
  LoopWorkers workers;
  OpBuilder builder(stage);
  auto plan = stage->getParentOfType<PlanOp>();
  for (Value target : *targets) {
    SmallVector<StringAttr> slotExtents = {builder.getStringAttr(std::to_string(kWorkers))};
    for (StringRef extent : extentsOf(target))
      slotExtents.push_back(builder.getStringAttr(extent));
    auto type = BufferType::get(stage.getContext(), slotExtents,
                                cast<BufferType>(target.getType()).getElementType());
    // Loops are numbered by what has been made for the stage before.
    std::string name = (plan.getSymName() + "_" + stage.getSymName() + "_workers").str();
    unsigned number = 0;
    for (auto buffer : plan.getBody().front().getOps<BufferOp>())
      number += buffer.getName().starts_with(name);
    workers.slots[target] =
        BufferOp::create(builder, stage.getLoc(), type, name + std::to_string(number),
                         Role::Temporary, /*zero=*/true);
  }
  return workers;
}

void LoopWorkers::addSumStage(StageOp stage, StringRef suffix) const {
  OpBuilder builder(stage->getContext());
  builder.setInsertionPointAfter(stage);
  Location loc = stage.getLoc();
  auto sums = StageOp::create(builder, loc, (stage.getSymName() + suffix + "_workers").str(),
                              stage.getPhase(), builder.getStrArrayAttr({}), DictionaryAttr());
  Block &stageBody = sums.getBody().emplaceBlock();
  for (auto [target, slot] : slots) {
    builder.setInsertionPointToEnd(&stageBody);
    SmallVector<StringRef> extents = extentsOf(target);
    auto loop = ForeachOp::create(builder, loc, builder.getStrArrayAttr(extents));
    Block &body = loop.getBody().emplaceBlock();
    for (size_t i = 0; i < extents.size(); ++i)
      body.addArgument(builder.getIndexType(), loc);
    builder.setInsertionPointToStart(&body);
    Type type = cast<BufferType>(target.getType()).getElementType();
    auto constant = [&](int64_t value) {
      return arith::ConstantIndexOp::create(builder, loc, value).getResult();
    };
    Value zero = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 0.0));
    auto workers = scf::ForOp::create(builder, loc, constant(0), constant(kWorkers), constant(1),
                                      ValueRange{zero});
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(workers.getBody());
      SmallVector<Value> at = {workers.getInductionVar()};
      llvm::append_range(at, body.getArguments());
      Value part = ReadOp::create(builder, loc, type, slot, at, /*inbounds=*/true);
      Value sum = arith::AddFOp::create(builder, loc, workers.getRegionIterArg(0), part);
      scf::YieldOp::create(builder, loc, sum);
    }
    SmallVector<Value> to(body.getArguments());
    AccumulateOp::create(builder, loc, workers.getResult(0), target, to);
    YieldOp::create(builder, loc);
  }
}
