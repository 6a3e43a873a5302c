//===- LoopWorkers.cpp - long sums divided among threads ------------------===//
#include "passes/ToGPU/LoopWorkers.h"

#include "passes/ToGPU/KernelFunction.h"

#include "passes/ToLoops/StageFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>

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

using Targets = llvm::MapVector<Value, Reduction>;

/// The buffers that the loop adds to, if that is all it does with what it changes.
static std::optional<Targets> findTargets(ForeachOp loop) {
  Targets targets;
  bool others = false;
  loop.walk([&](Operation *op) {
    others |= isa<WriteOp>(op);
    if (auto sum = dyn_cast<AccumulateOp>(op)) {
      auto [target, isNew] = targets.insert({sum.getBuffer(), sum.getKind()});
      others |= target->second != sum.getKind();
    }
  });
  loop.walk([&](ReadOp read) { others |= targets.contains(read.getBuffer()); });
  if (others || targets.empty())
    return std::nullopt;
  return targets;
}

/// Whether the workers' elements of a target are few, and nothing behind the loop in its stage
/// reads the target before the workers' elements are there.
static bool canDivide(Value target, StageOp stage, ForeachOp loop) {
  constexpr int64_t kManyElements = 4096;
  SmallVector<StringRef> slot = extentsOf(target);
  if (!llvm::all_of(slot, isFew) || constantProduct(slot) > kManyElements)
    return false;
  return llvm::none_of(target.getUsers(), [&](Operation *user) {
    auto other = user->getParentOfType<ForeachOp>();
    return other && other != loop && other->getParentOp() == stage &&
           loop->isBeforeInBlock(other) && !isa<AccumulateOp>(user);
  });
}

std::optional<LoopWorkers> LoopWorkers::create(StageOp stage, ForeachOp loop,
                                               const llvm::SmallBitVector &parallel) {
  constexpr int64_t kManyThreads = 1024;
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
  std::optional<Targets> targets = findTargets(loop);
  if (!isLong || hasThreads || !targets)
    return std::nullopt;
  if (!llvm::all_of(*targets, [&](auto &entry) { return canDivide(entry.first, stage, loop); }))
    return std::nullopt;
  LoopWorkers workers;
  OpBuilder builder(stage);
  auto plan = stage->getParentOfType<PlanOp>();
  for (auto [target, kind] : *targets) {
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
    Value buffer = BufferOp::create(builder, stage.getLoc(), type, name + std::to_string(number),
                                    Role::Temporary, /*zero=*/kind == Reduction::Add);
    workers.slots.push_back({target, buffer, kind});
  }
  return workers;
}

/// What changes nothing under `kind`.
static double neutralOf(Reduction kind) {
  return kind == Reduction::Add ? 0.0 : kind == Reduction::Max ? -INFINITY : INFINITY;
}

/// An empty stage like `stage` at the builder's place, which moves inside.
static void enterStage(OpBuilder &builder, StageOp stage, const Twine &name) {
  auto made = StageOp::create(builder, stage.getLoc(), name.str(), stage.getPhase(),
                              builder.getStrArrayAttr({}), /*pairs=*/Value());
  builder.setInsertionPointToEnd(&made.getBody().emplaceBlock());
}

/// A loop over `extents`; `body` is called at its indices.
static void eachOf(OpBuilder &builder, Location loc, ArrayRef<StringRef> extents,
                   llvm::function_ref<void(ValueRange)> body) {
  auto loop = ForeachOp::create(builder, loc, builder.getStrArrayAttr(extents));
  OpBuilder::InsertionGuard guard(builder);
  Block &block = loop.getBody().emplaceBlock();
  for (size_t i = 0; i < extents.size(); ++i)
    block.addArgument(builder.getIndexType(), loc);
  builder.setInsertionPointToStart(&block);
  body(block.getArguments());
  YieldOp::create(builder, loc);
}

static Value numberOf(OpBuilder &builder, Location loc, Value buffer, double number) {
  Type type = cast<BufferType>(buffer.getType()).getElementType();
  return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, number));
}

Value LoopWorkers::slotsOf(Value target) const {
  const Slots *found =
      llvm::find_if(slots, [&](const Slots &candidate) { return candidate.target == target; });
  assert(found != slots.end() && "every target has slots");
  return found->buffer;
}

void LoopWorkers::addBeginStage(StageOp stage, StringRef suffix, ArrayRef<Slots> slots) {
  // The plan clears those of sums.
  if (llvm::all_of(slots, [](const Slots &slot) { return slot.kind == Reduction::Add; }))
    return;
  OpBuilder builder(stage);
  Location loc = stage.getLoc();
  enterStage(builder, stage, stage.getSymName() + suffix + "_begin");
  for (const Slots &slot : slots)
    if (slot.kind != Reduction::Add)
      eachOf(builder, loc, extentsOf(slot.buffer), [&](ValueRange at) {
        Value neutral = numberOf(builder, loc, slot.buffer, neutralOf(slot.kind));
        WriteOp::create(builder, loc, neutral, slot.buffer, at);
      });
}

/// The workers' elements at `at`, combined in their order.
static Value combine(OpBuilder &builder, Location loc, const LoopWorkers::Slots &slot,
                     ValueRange at) {
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value).getResult();
  };
  Value neutral = numberOf(builder, loc, slot.buffer, neutralOf(slot.kind));
  auto workers = scf::ForOp::create(builder, loc, constant(0), constant(LoopWorkers::kWorkers),
                                    constant(1), ValueRange{neutral});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(workers.getBody());
  SmallVector<Value> place = {workers.getInductionVar()};
  llvm::append_range(place, at);
  Value part = ReadOp::create(builder, loc, neutral.getType(), slot.buffer, place,
                              /*inbounds=*/true);
  Value sum = emitReduction(builder, loc, slot.kind, workers.getRegionIterArg(0), part);
  scf::YieldOp::create(builder, loc, sum);
  return workers.getResult(0);
}

void LoopWorkers::addSumStage(StageOp stage, StringRef suffix, ArrayRef<Slots> slots) {
  if (slots.empty())
    return;
  OpBuilder builder(stage->getContext());
  builder.setInsertionPointAfter(stage);
  Location loc = stage.getLoc();
  enterStage(builder, stage, stage.getSymName() + suffix + "_workers");
  for (const Slots &slot : slots)
    eachOf(builder, loc, extentsOf(slot.target), [&](ValueRange at) {
      Value sum = combine(builder, loc, slot, at);
      AccumulateOp::create(builder, loc, sum, slot.target, SmallVector<Value>(at), slot.kind);
    });
}
