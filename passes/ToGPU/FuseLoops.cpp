//===- FuseLoops.cpp - the pass pe-fuse-loops -----------------------------===//
#include "passes/ToGPU/ToGPU.h"

#include "passes/ToGPU/LoopIndices.h"
#include "passes/ToLoops/ScalarStage.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PEFUSELOOPSPASS
#include "passes/ToGPU/Passes.h.inc"
} // namespace mlir::tile

namespace {

/// The accesses of a loop of a scalar stage.
struct Loop {
  Loop(StageOp stage, ForeachOp op);

  bool changes(Value buffer) const { return changed.contains(buffer); }
  /// Returns the buffers that both loops use and at least one changes.
  SmallVector<Value> conflicts(const Loop &other) const;
  /// Returns the positions of the loop's indices in the accesses of a buffer, if all accesses are
  /// at the same indices of the loop and no two iterations access the same element.
  std::optional<SmallVector<unsigned>> ownElement(Value buffer);

  StageOp stage;
  ForeachOp op;
  bool isOfLanes;                 // a warp executes an iteration; its last lane has the sums
  SmallVector<StringRef> extents; // without the lanes
  llvm::SetVector<Value> used;
  llvm::SmallDenseSet<Value> changed;
};

} // namespace

static OperandRange indicesOf(Operation *access) {
  if (auto write = dyn_cast<WriteOp>(access))
    return write.getIndices();
  if (auto sum = dyn_cast<AccumulateOp>(access))
    return sum.getIndices();
  return cast<ReadOp>(access).getIndices();
}

Loop::Loop(StageOp stage, ForeachOp op)
    : stage(stage), op(op), isOfLanes(!tile::gpu::laneSums(op).empty()),
      extents(getStrings(stage.getOver())) {
  llvm::append_range(extents, getStrings(op.getOver()));
  if (isOfLanes)
    extents.pop_back();
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (isa<BufferType>(operand.getType())) {
        used.insert(operand);
        if (!isa<ReadOp>(inner))
          changed.insert(operand);
      }
  });
}

SmallVector<Value> Loop::conflicts(const Loop &other) const {
  return llvm::filter_to_vector(used, [&](Value buffer) {
    return other.used.contains(buffer) && (changes(buffer) || other.changes(buffer));
  });
}

std::optional<SmallVector<unsigned>> Loop::ownElement(Value buffer) {
  std::optional<SmallVector<unsigned>> place;
  auto bufferExtents = cast<BufferType>(buffer.getType()).getExtents();
  auto visit = [&](Operation *access) {
    if (!llvm::is_contained(access->getOperands(), buffer))
      return WalkResult::advance();
    SmallVector<unsigned> indices;
    for (auto [index, extent] : llvm::zip(indicesOf(access), bufferExtents)) {
      auto argument = dyn_cast<BlockArgument>(index);
      // A smaller axis would clamp several indices to its last element.
      if (!argument || argument.getOwner() != &op.getBody().front() ||
          argument.getArgNumber() >= extents.size() ||
          extents[argument.getArgNumber()] != extent.getValue())
        return WalkResult::interrupt();
      indices.push_back(argument.getArgNumber());
    }
    if (place && *place != indices)
      return WalkResult::interrupt();
    place = std::move(indices);
    return WalkResult::advance();
  };
  if (op.walk(visit).wasInterrupted())
    return std::nullopt;
  const llvm::SmallDenseSet<unsigned> distinct(place->begin(), place->end());
  return distinct.size() == extents.size() ? place : std::nullopt;
}

/// Returns true if an iteration of `second` uses only those changed elements that the same
/// iteration of `first` uses.
static bool canFuse(Loop &first, Loop &second) {
  if (second.isOfLanes || first.stage.getPhase() != second.stage.getPhase() ||
      first.stage.getWhenAttr() != second.stage.getWhenAttr() || first.extents != second.extents ||
      first.op.getIndependent() != second.op.getIndependent())
    return false;
  return llvm::all_of(first.conflicts(second), [&](Value buffer) {
    const auto place = first.ownElement(buffer);
    return place && place == second.ownElement(buffer);
  });
}

/// Moves the body of `second` to the end of that of `first`, where the last lane has the sums.
static void fuse(Loop &first, Loop &second) {
  Block &to = first.op.getBody().front();
  Block &from = second.op.getBody().front();
  for (auto [old, made] : llvm::zip(from.getArguments(), to.getArguments()))
    old.replaceAllUsesWith(made);
  Operation *end = to.getTerminator();
  if (first.isOfLanes) {
    OpBuilder builder(end);
    Location loc = second.op.getLoc();
    Value last = arith::ConstantIndexOp::create(builder, loc, tile::gpu::kLanes - 1);
    Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         to.getArguments().back(), last);
    auto branch = scf::IfOp::create(builder, loc, isLast, /*withElseRegion=*/false);
    end = branch.thenBlock()->getTerminator();
  }
  for (Operation &op : llvm::make_early_inc_range(from.without_terminator()))
    op.moveBefore(end);
  first.used.insert_range(second.used);
  first.changed.insert_range(second.changed);
}

/// Fuses a loop with the last loop that it depends on, if it may; the loops between them do not
/// conflict with it.
static bool fuseWithEarlier(MutableArrayRef<Loop> earlier, Loop &loop) {
  for (Loop &other : llvm::reverse(earlier)) {
    if (other.conflicts(loop).empty())
      continue;
    if (!canFuse(other, loop))
      return false;
    fuse(other, loop);
    return true;
  }
  return false;
}

static void fuseLoops(PlanOp plan) {
  std::vector<Loop> earlier; // since the last stage that is not scalar
  for (StageOp stage : llvm::to_vector(plan.getOps<StageOp>())) {
    if (!isScalarStage(stage) || !stage.getBody().getOps<FindSegmentsOp>().empty()) {
      earlier.clear();
      continue;
    }
    for (ForeachOp op : llvm::to_vector(stage.getBody().getOps<ForeachOp>())) {
      Loop loop(stage, op);
      if (fuseWithEarlier(earlier, loop))
        op.erase();
      else
        earlier.push_back(std::move(loop));
    }
    if (stage.getBody().getOps<ForeachOp>().empty())
      stage.erase();
  }
}

namespace {

struct PEFuseLoopsPass : tile::impl::PEFuseLoopsPassBase<PEFuseLoopsPass> {
  using Base::Base;

  void runOnOperation() override {
    for (PlanOp plan : getOperation().getOps<PlanOp>())
      fuseLoops(plan);
  }
};

} // namespace
