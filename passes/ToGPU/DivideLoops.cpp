//===- DivideLoops.cpp - the pass pe-divide-loops -------------------------===//
#include "passes/ToGPU/ToGPU.h"

#include "dialect/Tile/SizeNames.h"
#include "passes/ToGPU/KernelFunction.h"
#include "passes/ToGPU/LoopIndices.h"
#include "passes/ToGPU/PartialSums.h"
#include "passes/ToLoops/ScalarStage.h"
#include "passes/ToLoops/StageFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "pe-divide-loops"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PEDIVIDELOOPSPASS
#include "passes/ToGPU/Passes.h.inc"
} // namespace mlir::tile

using tile::gpu::addLoop;
using tile::gpu::extentsOf;
using tile::gpu::kLanes;
using tile::gpu::PartialSums;
using tile::gpu::Slots;

/// The most iterations of a worker.
static constexpr int64_t kMostIterations = 256;

//===- Analysis ---------------------------------------------------------------------===//

/// Returns the constant value of an extent, or std::nullopt if it is known only at run time.
static std::optional<int64_t> constantOf(StringRef extent, PlanOp plan) {
  if (std::optional<int64_t> size = fixedSize(extent))
    return size;
  if (plan.getHeadDim() == 0 || !isDepth(extent))
    return std::nullopt;
  return sizeOfDepth(extent, plan.getHeadDim(), plan.getValueDim());
}

/// Returns true for constants and numbers of heads or batch entries, but not for rows, columns and
/// distances.
static bool areFew(ArrayRef<StringRef> extents, PlanOp plan) {
  return llvm::all_of(extents, [&](StringRef extent) {
    return constantOf(extent, plan) || extent == "hq" || extent == "hkv" || extent == "b";
  });
}

/// Returns the product of the constant extents; the others are ignored.
static int64_t constantProduct(ArrayRef<StringRef> extents, PlanOp plan) {
  int64_t product = 1;
  for (StringRef extent : extents)
    product *= constantOf(extent, plan).value_or(1);
  return product;
}

namespace {

/// A loop to divide.
struct DividedLoop {
  ForeachOp loop;
  llvm::SmallBitVector parallel; // its indices that threads divide already
  std::string groups;            // the number of warps of workers, a size expression
  SmallVector<Slots> slots;
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
  auto plan = stage->getParentOfType<PlanOp>();
  if (!areFew(slot, plan) || constantProduct(slot, plan) > kManyElements)
    return false;
  return llvm::none_of(target.getUsers(), [&](Operation *user) {
    auto other = user->getParentOfType<ForeachOp>();
    return other && other != loop && other->getParentOp() == stage &&
           loop->isBeforeInBlock(other) && !isa<AccumulateOp>(user);
  });
}

/// Returns the extents of a loop and its stage's items whose indices are parallel, or the others.
static SmallVector<StringRef> loopExtents(ForeachOp loop, const llvm::SmallBitVector &parallel,
                                          bool areParallel) {
  auto extents = getStrings(loop->getParentOfType<StageOp>().getOver());
  llvm::append_range(extents, getStrings(loop.getOver()));
  SmallVector<StringRef> found;
  for (auto [index, extent] : llvm::enumerate(extents))
    if (parallel[index] == areParallel)
      found.push_back(extent);
  return found;
}

/// Returns the buffers that a loop adds to if it is long, has few parallel indices, and can be
/// divided. Otherwise returns no buffers.
static Targets targetsOfLongSum(ForeachOp loop, const llvm::SmallBitVector &parallel) {
  auto stage = loop->getParentOfType<StageOp>();
  auto plan = stage->getParentOfType<PlanOp>();
  const bool isShort =
      llvm::all_of(loopExtents(loop, parallel, /*areParallel=*/false),
                   [&](StringRef extent) { return constantOf(extent, plan).has_value(); });
  if (isShort || !areFew(loopExtents(loop, parallel, /*areParallel=*/true), plan))
    return {};
  std::optional<Targets> targets = findTargets(loop);
  if (!targets ||
      !llvm::all_of(*targets, [&](auto &entry) { return canDivide(entry.first, stage, loop); }))
    return {};
  return std::move(*targets);
}

/// Returns the arguments of the loop's region that are the same index of all its sums to the
/// target, by dimension, and null values in the other dimensions.
static SmallVector<Value> fixedIndices(ForeachOp loop, Value target) {
  std::optional<SmallVector<Value>> fixed;
  loop.walk([&](AccumulateOp sum) {
    if (sum.getBuffer() != target)
      return;
    if (!fixed)
      fixed.emplace(sum.getIndices());
    for (auto [known, index] : llvm::zip(*fixed, sum.getIndices())) {
      auto argument = dyn_cast<BlockArgument>(index);
      if (known != index || !argument || argument.getOwner() != &loop.getBody().front())
        known = Value();
    }
  });
  return *fixed;
}

/// Removes the indices that are not a fixed index of every target, so that a worker's elements
/// differ from those of other indices.
static void keepFixed(llvm::SmallBitVector &parallel, ForeachOp loop, const Targets &targets) {
  for (Value target : llvm::make_first_range(targets)) {
    const SmallVector<Value> fixed = fixedIndices(loop, target);
    for (BlockArgument argument : loop.getBody().front().getArguments())
      if (!llvm::is_contained(fixed, argument))
        parallel.reset(argument.getArgNumber());
  }
}

/// Returns the number of warps of workers as a size expression: a worker an iteration until their
/// elements are many, then as few as add at most kMostIterations. It depends on the sizes alone, so
/// results are the same on every machine.
static std::string groupsOf(ForeachOp loop, const llvm::SmallBitVector &parallel,
                            const Targets &targets) {
  constexpr int64_t kElements = 8192, kFewWorkers = 256, kManyThreads = 1024;
  auto plan = loop->getParentOfType<PlanOp>();
  SmallVector<StringRef> extents = loopExtents(loop, parallel, /*areParallel=*/false);
  // Only ranges of distances depend on a parameter of the call, which extents of buffers cannot.
  for (StringRef &extent : extents)
    if (llvm::any_of(plan.getOps<ParameterOp>(),
                     [&](ParameterOp p) { return mentions(extent, p.getName()); }))
      extent = "t";
  int64_t elements = 1;
  for (Value target : llvm::make_first_range(targets))
    elements = std::max(elements, constantProduct(extentsOf(target), plan));
  const bool hasThreads =
      constantProduct(loopExtents(loop, parallel, /*areParallel=*/true), plan) >= kManyThreads;
  const int64_t many = std::max(hasThreads ? kLanes : kFewWorkers, kElements / elements);
  const std::string count = productOfExtents(extents);
  // Without rows and columns, the number of distances r + c - 1 is negative.
  return llvm::formatv("ceildiv(min({0},max({1},ceildiv({0},{2}))),{3})", "max(1," + count + ")",
                       many, kMostIterations, kLanes);
}

//===- Rewriting --------------------------------------------------------------------===//

/// Adds the partial sums of a loop. The lanes of a warp add theirs only if a worker has one
/// element: a tree per element would take longer than to combine the elements of all workers.
static Slots makeSlots(const DividedLoop &divided, Value target, Reduction kind) {
  ForeachOp loop = divided.loop;
  auto stage = loop->getParentOfType<StageOp>();
  SmallVector<std::string> extents = {divided.groups};
  for (StringRef extent : extentsOf(target))
    extents.push_back(extent.str());
  // The index follows the buffers that previous loops of the stage have added.
  auto plan = stage->getParentOfType<PlanOp>();
  auto add = [&](const std::string &suffix) {
    const std::string name = (plan.getSymName() + "_" + stage.getSymName() + suffix).str();
    const int64_t number = llvm::count_if(plan.getOps<BufferOp>(), [&](BufferOp buffer) {
      return buffer.getName().starts_with(name);
    });
    return tile::gpu::addTemporary(stage, suffix + Twine(number), extents, elementOf(target),
                                   /*zero=*/kind == Reduction::Add);
  };
  const bool isOne = llvm::all_of(fixedIndices(loop, target), [&](Value index) {
    return index && divided.parallel[cast<BlockArgument>(index).getArgNumber()];
  });
  Value ofGroups = isOne ? add("_groups") : Value();
  extents.push_back(std::to_string(kLanes));
  return {target, kind, add("_workers"), ofGroups};
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

static Value wideConstant(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI64Type(), value);
}

/// Emits the loop over a worker's iterations, number `worker` and every `step`th after it, and
/// clones the body of `old` into it. The parallel arguments of `old` are in `mapping`; the last of
/// the others varies fastest.
static void writeIterations(OpBuilder &builder, const DividedLoop &old, Value worker, Value step,
                            IRMapping &mapping) {
  ForeachOp loop = old.loop;
  Location loc = loop.getLoc();
  const auto extents = getStrings(loop.getOver());
  SmallVector<Value> sizes(extents.size());
  Value count = wideConstant(builder, loc, 1);
  for (auto [index, extent] : llvm::enumerate(extents))
    if (!old.parallel[index]) {
      sizes[index] = wideSize(builder, loc, extent);
      count = arith::MulIOp::create(builder, loc, count, sizes[index]);
    }
  auto share = scf::ForOp::create(builder, loc, worker, count, step);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(share.getBody());
  Block &body = loop.getBody().front();
  Value number = share.getInductionVar();
  for (size_t i = extents.size(); i-- > 0;) {
    if (old.parallel[i])
      continue;
    Value index = arith::RemUIOp::create(builder, loc, number, sizes[i]);
    mapping.map(
        body.getArgument(i),
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), index).getResult());
    number = arith::DivUIOp::create(builder, loc, number, sizes[i]);
  }
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
}

/// Adds the element of a worker to that of its group: the lanes of a warp add them as a tree.
static void addToGroup(OpBuilder &builder, Location loc, const Slots &slots, ValueRange at,
                       Value group, Value lane) {
  SmallVector<Value> ofGroup = {group};
  llvm::append_range(ofGroup, at);
  SmallVector<Value> ofWorker = ofGroup;
  ofWorker.push_back(lane);
  Value part = ReadOp::create(builder, loc, elementOf(slots.workers), slots.workers, ofWorker,
                              /*inbounds=*/true);
  AccumulateOp::create(builder, loc, part, slots.groups, ofGroup, slots.kind);
}

/// Replaces the loop by one over its parallel indices and a worker, lane `lane` of group `group`,
/// which executes a part of the other iterations and adds to its own elements.
static void divideLoop(const DividedLoop &old) {
  ForeachOp loop = old.loop;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  SmallVector<StringRef> extents = loopExtents(loop, old.parallel, /*areParallel=*/true);
  const std::string lanes = std::to_string(kLanes);
  extents.append({old.groups, lanes});
  ForeachOp made = addLoop(builder, loc, extents);
  IRMapping mapping;
  ArrayRef<BlockArgument> arguments = made.getBody().front().getArguments();
  Value group = arguments.drop_back().back(), lane = arguments.back();
  for (BlockArgument argument : loop.getBody().front().getArguments())
    if (old.parallel[argument.getArgNumber()]) {
      mapping.map(argument, arguments.front());
      arguments = arguments.drop_front();
    }
  Type i64 = builder.getI64Type();
  Value size = wideConstant(builder, loc, kLanes);
  Value worker = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc, arith::IndexCastOp::create(builder, loc, i64, group),
                            size),
      arith::IndexCastOp::create(builder, loc, i64, lane));
  Value step = arith::MulIOp::create(builder, loc, wideSize(builder, loc, old.groups), size);
  writeIterations(builder, old, worker, step, mapping);
  for (const Slots &slots : old.slots)
    if (slots.groups)
      addToGroup(builder, loc, slots, fixedIndices(made, slots.target), group, lane);
  made.walk([&](AccumulateOp sum) {
    const Slots *own =
        llvm::find_if(old.slots, [&](const Slots &s) { return s.target == sum.getBuffer(); });
    if (own == old.slots.end())
      return;
    SmallVector<Value> at = {group};
    llvm::append_range(at, sum.getIndices());
    at.push_back(lane);
    sum.getBufferMutable().set(own->workers);
    sum.getIndicesMutable().assign(at);
  });
  loop.erase();
}

//===- The pass -------------------------------------------------------------------===//

/// Divides the loops of a stage; returns the partial sums.
static SmallVector<Slots> divideLoops(StageOp stage) {
  SmallVector<Slots> all;
  if (!isScalarStage(stage))
    return all;
  SmallVector<DividedLoop> divided;
  for (auto loop : stage.getBody().front().getOps<ForeachOp>()) {
    llvm::SmallBitVector parallel = tile::gpu::parallelIndices(loop);
    const Targets targets = targetsOfLongSum(loop, parallel);
    if (targets.empty())
      continue;
    keepFixed(parallel, loop, targets);
    DividedLoop &made = divided.emplace_back();
    made.groups = groupsOf(loop, parallel, targets);
    made.loop = loop;
    made.parallel = std::move(parallel);
    for (auto [target, kind] : targets)
      made.slots.push_back(makeSlots(made, target, kind));
    llvm::append_range(all, made.slots);
  }
  if (divided.empty())
    return all;
  moveItemsIntoLoops(stage);
  for (const DividedLoop &loop : divided)
    divideLoop(loop);
  tile::gpu::addBeginStage(stage, all);
  return all;
}

namespace {

struct PEDivideLoopsPass : tile::impl::PEDivideLoopsPassBase<PEDivideLoopsPass> {
  using Base::Base;

  void runOnOperation() override {
    for (PlanOp plan : getOperation().getOps<PlanOp>()) {
      PartialSums sums;
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
