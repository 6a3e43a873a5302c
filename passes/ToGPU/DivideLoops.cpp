//===- DivideLoops.cpp - the pass pe-divide-loops -------------------------===//
#include "passes/ToGPU/ToGPU.h"

#include "passes/ToGPU/KernelFunction.h"
#include "passes/ToGPU/ScalarStages.h"
#include "passes/ToLoops/ScalarStage.h"
#include "passes/ToLoops/StageFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>

#define DEBUG_TYPE "pe-divide-loops"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PEDIVIDELOOPSPASS
#include "passes/ToGPU/Passes.h.inc"
} // namespace mlir::tile

/// The number of workers is the same for all sizes and machines, so results do not depend on it.
static constexpr int64_t kWorkers = 256;

//===- Analysis ---------------------------------------------------------------------===//

/// Returns the constant value of an extent, or std::nullopt if it is known only at run time.
static std::optional<int64_t> constantOf(StringRef extent) {
  int64_t size;
  return extent.getAsInteger(10, size) ? std::nullopt : std::optional(size);
}

/// Returns true for constants and numbers of heads or batch entries, but not for rows, columns and
/// distances.
static bool isFew(StringRef extent) {
  return constantOf(extent) || extent == "hq" || extent == "hkv" || extent == "b";
}

/// Returns the product of the constant extents; the others are ignored.
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

namespace {

/// The buffer that a loop adds to, and the buffer with the workers' elements that replaces it:
/// [workers, extents of the target...].
struct Slots {
  Value target, buffer;
  Reduction kind;
};

} // namespace

using Targets = llvm::MapVector<Value, Reduction>;

/// Returns the buffers that the loop adds to, if it accesses changed buffers in no other way.
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

/// Returns true if the workers' elements of a target are few, and nothing after the loop in its
/// stage reads the target before the workers' elements are added.
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

/// Returns the buffers that a loop adds to if it is long, has too few parallel indices, and can be
/// divided. Otherwise returns no buffers.
static Targets targetsOfLongSum(StageOp stage, ForeachOp loop,
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
  if (!isLong || hasThreads)
    return {};
  std::optional<Targets> targets = findTargets(loop);
  if (!targets ||
      !llvm::all_of(*targets, [&](auto &entry) { return canDivide(entry.first, stage, loop); }))
    return {};
  return std::move(*targets);
}

//===- Rewriting --------------------------------------------------------------------===//

static Slots makeSlots(StageOp stage, Value target, Reduction kind) {
  SmallVector<std::string> extents = {std::to_string(kWorkers)};
  for (StringRef extent : extentsOf(target))
    extents.push_back(extent.str());
  // The index follows the buffers that previous loops of the stage have added.
  auto plan = stage->getParentOfType<PlanOp>();
  const std::string name = (plan.getSymName() + "_" + stage.getSymName() + "_workers").str();
  const int64_t number = llvm::count_if(
      plan.getOps<BufferOp>(), [&](BufferOp buffer) { return buffer.getName().starts_with(name); });
  Value buffer =
      tile::gpu::addTemporary(stage, "_workers" + Twine(number), extents, elementOf(target),
                              /*zero=*/kind == Reduction::Add);
  return {target, buffer, kind};
}

/// Turns the indices of a stage's items into indices of its loops, which are divided like the
/// others.
static void moveItemsIntoLoops(StageOp stage) {
  Builder builder(stage.getContext());
  const auto over = getStrings(stage.getOver());
  for (auto loop : stage.getBody().front().getOps<ForeachOp>()) {
    SmallVector<StringRef> extents(over);
    llvm::append_range(extents, getStrings(loop.getOver()));
    loop.setOverAttr(builder.getStrArrayAttr(extents));
  }
  stage.setOverAttr(builder.getStrArrayAttr({}));
}

/// Returns the size as an i64: one extent fits in 32 bits, a product of them may not.
static Value wideSize(OpBuilder &builder, Location loc, StringRef extent) {
  Value size = SizeOp::create(builder, loc, builder.getIndexType(), extent);
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size);
}

/// Replaces the loop by one over its parallel indices and a worker, which executes every 256th of
/// the other iterations and adds to its own elements.
static void divideLoop(ForeachOp loop, const llvm::SmallBitVector &parallel,
                       ArrayRef<Slots> slots) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  const auto extents = getStrings(loop.getOver());
  const std::string workers = std::to_string(kWorkers);
  SmallVector<StringRef> divided;
  for (auto [index, extent] : llvm::enumerate(extents))
    if (parallel[index])
      divided.push_back(extent);
  divided.push_back(workers);
  auto made = ForeachOp::create(builder, loc, builder.getStrArrayAttr(divided));
  Block &body = made.getBody().emplaceBlock();
  for (size_t i = 0; i < divided.size(); ++i)
    body.addArgument(builder.getIndexType(), loc);
  builder.setInsertionPointToStart(&body);
  Type i64 = builder.getI64Type();
  SmallVector<Value> sizes(extents.size());
  Value count = arith::ConstantIntOp::create(builder, loc, i64, 1);
  for (auto [index, extent] : llvm::enumerate(extents))
    if (!parallel[index]) {
      sizes[index] = wideSize(builder, loc, extent);
      count = arith::MulIOp::create(builder, loc, count, sizes[index]);
    }
  Value worker = body.getArguments().back();
  Value first = arith::IndexCastOp::create(builder, loc, i64, worker);
  Value step = arith::ConstantIntOp::create(builder, loc, i64, kWorkers);
  auto share = scf::ForOp::create(builder, loc, first, count, step);
  YieldOp::create(builder, loc);
  builder.setInsertionPointToStart(share.getBody());
  // The last index varies fastest.
  Block &old = loop.getBody().front();
  IRMapping mapping;
  Value number = share.getInductionVar();
  for (size_t i = extents.size(), next = divided.size() - 1; i-- > 0;) {
    if (parallel[i]) {
      mapping.map(old.getArgument(i), body.getArgument(--next));
      continue;
    }
    Value index = arith::RemUIOp::create(builder, loc, number, sizes[i]);
    mapping.map(
        old.getArgument(i),
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), index).getResult());
    number = arith::DivUIOp::create(builder, loc, number, sizes[i]);
  }
  for (Operation &op : old.without_terminator())
    builder.clone(op, mapping);
  made.walk([&](AccumulateOp sum) {
    const Slots *own =
        llvm::find_if(slots, [&](const Slots &s) { return s.target == sum.getBuffer(); });
    SmallVector<Value> at = {worker};
    llvm::append_range(at, sum.getIndices());
    sum.getBufferMutable().set(own->buffer);
    sum.getIndicesMutable().assign(at);
  });
  loop.erase();
}

//===- Added stages -----------------------------------------------------------------===//

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
  return arith::ConstantOp::create(builder, loc, neutralOf(elementOf(slots.buffer), slots.kind));
}

/// Adds a stage before `stage` that initializes maxima and minima. The plan clears sums.
static void addBeginStage(StageOp stage, ArrayRef<Slots> slots) {
  auto isSum = [](const Slots &s) { return s.kind == Reduction::Add; };
  if (llvm::all_of(slots, isSum))
    return;
  OpBuilder builder(stage);
  Location loc = stage.getLoc();
  tile::gpu::enterStage(builder, stage, "_begin");
  for (const Slots &s : llvm::make_filter_range(slots, std::not_fn(isSum))) {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Value> at = tile::gpu::addElementLoop(builder, loc, s.buffer);
    WriteOp::create(builder, loc, neutral(builder, loc, s), s.buffer, at);
    YieldOp::create(builder, loc);
  }
}

/// Combines the workers' elements at `at` in order.
static Value combine(OpBuilder &builder, Location loc, const Slots &slots, ValueRange at) {
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value).getResult();
  };
  Value begin = neutral(builder, loc, slots);
  auto workers = scf::ForOp::create(builder, loc, constant(0), constant(kWorkers), constant(1),
                                    ValueRange{begin});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(workers.getBody());
  SmallVector<Value> place = {workers.getInductionVar()};
  llvm::append_range(place, at);
  Value part = ReadOp::create(builder, loc, begin.getType(), slots.buffer, place,
                              /*inbounds=*/true);
  Value sum = emitReduction(builder, loc, slots.kind, workers.getRegionIterArg(0), part);
  scf::YieldOp::create(builder, loc, sum);
  return workers.getResult(0);
}

namespace {

/// The workers' elements that no stage combines yet. Stages whose sums have the same target share
/// the stage that combines them, which stands before the first stage that uses the target.
class PendingSums {
public:
  /// Combines the sums that must be there when `stage`, which adds to `added`, starts.
  void finishBefore(StageOp stage, ArrayRef<Slots> added);
  void add(StageOp stage, ArrayRef<Slots> slots);
  /// Combines all sums after the last stage that adds to them.
  void finish();

private:
  struct Sum {
    StageOp stage; // the last that adds to the target
    SmallVector<Slots> parts;
  };
  using Sums = llvm::MapVector<Value, Sum>;
  static void combineAll(OpBuilder &builder, const Sums &sums);

  Sums pending;
};

} // namespace

void PendingSums::combineAll(OpBuilder &builder, const Sums &sums) {
  if (sums.empty())
    return;
  StageOp stage = sums.front().second.stage;
  for (const auto &[target, sum] : sums)
    if (stage->isBeforeInBlock(sum.stage))
      stage = sum.stage;
  Location loc = stage.getLoc();
  auto plan = stage->getParentOfType<PlanOp>();
  std::string suffix = "_workers";
  while (plan.lookupSymbol((stage.getSymName() + suffix).str()))
    suffix += "_more";
  tile::gpu::enterStage(builder, stage, suffix);
  for (const auto &[target, sum] : sums) {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Value> at = tile::gpu::addElementLoop(builder, loc, target);
    const Reduction kind = sum.parts.front().kind;
    Value total;
    for (const Slots &part : sum.parts) {
      Value value = combine(builder, loc, part, at);
      total = total ? emitReduction(builder, loc, kind, total, value) : value;
    }
    AccumulateOp::create(builder, loc, total, target, at, kind);
    YieldOp::create(builder, loc);
  }
}

void PendingSums::finishBefore(StageOp stage, ArrayRef<Slots> added) {
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

void PendingSums::add(StageOp stage, ArrayRef<Slots> slots) {
  for (const Slots &s : slots) {
    Sum &sum = pending[s.target];
    sum.stage = stage;
    sum.parts.push_back(s);
  }
}

void PendingSums::finish() {
  if (pending.empty())
    return;
  StageOp last = pending.front().second.stage;
  for (const auto &[target, sum] : pending)
    if (last->isBeforeInBlock(sum.stage))
      last = sum.stage;
  OpBuilder builder(last->getContext());
  builder.setInsertionPointAfter(last);
  combineAll(builder, pending);
  pending.clear();
}

/// Divides the loops of a stage; returns the workers' elements.
static SmallVector<Slots> divideLoops(StageOp stage) {
  SmallVector<Slots> all;
  if (!isScalarStage(stage))
    return all;
  SmallVector<std::tuple<ForeachOp, llvm::SmallBitVector, SmallVector<Slots>>> divided;
  for (auto loop : stage.getBody().front().getOps<ForeachOp>()) {
    llvm::SmallBitVector parallel = tile::gpu::parallelIndices(loop);
    SmallVector<Slots> slots;
    for (auto [target, kind] : targetsOfLongSum(stage, loop, parallel))
      slots.push_back(makeSlots(stage, target, kind));
    llvm::append_range(all, slots);
    if (!slots.empty())
      divided.emplace_back(loop, std::move(parallel), std::move(slots));
  }
  if (divided.empty())
    return all;
  moveItemsIntoLoops(stage);
  for (auto &[loop, parallel, slots] : divided)
    divideLoop(loop, parallel, slots);
  addBeginStage(stage, all);
  return all;
}

namespace {

struct PEDivideLoopsPass : tile::impl::PEDivideLoopsPassBase<PEDivideLoopsPass> {
  using Base::Base;

  void runOnOperation() override {
    for (PlanOp plan : getOperation().getOps<PlanOp>()) {
      PendingSums sums;
      for (StageOp stage : llvm::to_vector(plan.getOps<StageOp>())) {
        const SmallVector<Slots> slots = divideLoops(stage);
        sums.finishBefore(stage, slots);
        sums.add(stage, slots);
      }
      sums.finish();
    }
  }
};

} // namespace
