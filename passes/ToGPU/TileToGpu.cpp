//===- TileToGpu.cpp - the pass pe-tile-to-gpu ----------------------------===//
#include "passes/ToGPU/ToGPU.h"

#include "dialect/Step/StepAttributes.h"
#include "dialect/Tile/Owner.h"
#include "dialect/Tile/SizeNames.h"
#include "passes/Schedule/Layouts.h"
#include "passes/Schedule/Schedule.h"
#include "passes/ToGPU/Emitters.h"
#include "passes/ToGPU/Folds.h"
#include "passes/ToGPU/ScalarStages.h"
#include "passes/ToLoops/ScalarStage.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#define DEBUG_TYPE "pe-tile-to-gpu"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PETILETOGPUPASS
#include "passes/ToGPU/Passes.h.inc"
} // namespace mlir::tile

static LogicalResult refuse(Operation *at, const Twine &reason) {
  return emitError(at->getLoc(), "no GPU kernel can compute this: ") << reason;
}

static LogicalResult checkValues(StageOp stage) {
  std::string why;
  if (failed(checkLayouts(stage, why)))
    return refuse(stage, why);
  return success();
}

/// Returns true if a CTA adds to one slot: slots are those of its owners.
static bool fitsSchedule(Value buffer, const GpuSchedule &schedule) {
  SlotsAttr slots = slotsOf(buffer);
  auto extents = cast<BufferType>(buffer.getType()).getExtents();
  StringRef count = extents[2].getValue(), side = schedule.owner() == Owner::Rows ? "r" : "c";
  const bool isTable = extents.back() == "t"; // CTAs may share its slots
  const bool fits =
      isTable || count == ("ceildiv(" + side + "," + Twine(slots.getBlock()) + ")").str();
  return fits && slots.getSide() == side && slots.getBlock() == schedule.ownerBlock();
}

/// Emits an error at the first sum that a kernel cannot compute: its place depends on the pair, or
/// CTAs would share its elements.
static LogicalResult checkSums(StageOp stage, const GpuSchedule &schedule) {
  using namespace tile::gpu;
  const bool rows = getOwner(stage) == Owner::Rows;
  bool hasDiagonals = false;
  Operation *scattered = nullptr, *whole = nullptr, *foreign = nullptr;
  stage.getStream().getBody().walk([&](Operation *op) {
    hasDiagonals |= isa<WindowGradOp, WindowOuterOp, SegmentsGradOp>(op);
    if (auto sum = dyn_cast<AccumulateOp>(op);
        sum && !hasPlaceInHead(sum) && !lineOf(sum) && !sum.getOwn())
      scattered = op;
    else if (sum && hasPlaceInHead(sum) && !slotsOf(sum.getBuffer()))
      whole = op;
    auto grad = dyn_cast<WindowGradOp>(op);
    auto segments = dyn_cast<SegmentsGradOp>(op);
    if ((grad && !slotsOf(grad.getTable())) || (segments && !slotsOf(segments.getMoments())))
      whole = op;
    for (Value buffer : op->getOperands())
      if (isa<BufferType>(buffer.getType()) && slotsOf(buffer) && !fitsSchedule(buffer, schedule))
        foreign = op;
  });
  if (scattered)
    return refuse(scattered,
                  "the gradient of a tensor is accumulated at indices that depend on both the "
                  "query and the key, several pairs may share an element, and the tensor is not "
                  "known to have at most " +
                      Twine(kMostSumsOfThread) +
                      " elements per head; read it only where every pair has its own element, as "
                      "in select(i - j < 64, x[b, h, i, min(i - j, 63)], 0), or use --target=cpu");
  if (whole)
    return whole->emitOpError("expected sums in slots, which CTAs do not share; run pe-split-sums "
                              "first");
  if (foreign)
    return foreign->emitOpError("expected slots by blocks of ")
           << schedule.ownerBlock() << (rows ? " r" : " c")
           << ", the owners of a CTA, one for each or, in a table of distances, a constant number";
  if (hasDiagonals &&
      (schedule.ownerBlock() % schedule.innerBlock || schedule.threads() < schedule.innerBlock))
    return refuse(stage, "sums along diagonals require an owner block that is a multiple of the "
                         "inner block, and at least one thread per inner row");
  return success();
}

/// Returns true for a load that extends elements and a store that rounds them.
static bool convertsInMemory(Operation *op) {
  auto converts = [](auto memory) {
    return elementOf(memory.getValue()) != elementOf(memory.getBuffer());
  };
  if (auto load = dyn_cast<LoadOp>(op))
    return converts(load);
  auto store = dyn_cast<StoreOp>(op);
  return store && converts(store);
}

/// Emits an error at the first load or store of pairs that no kernel can do. Owners store lines,
/// and another stage, with the other owner, loads parts of their blocks.
static LogicalResult checkPairs(StageOp stage, const GpuSchedule &schedule) {
  const Owner owner = getOwner(stage);
  const StringRef sides[] = {owner == Owner::Rows ? "rows" : "columns",
                             owner == Owner::Rows ? "columns" : "rows"};
  const int64_t owners = schedule.ownerBlock(), inners = schedule.innerBlock;
  WalkResult walked = stage.getStream().getBody().walk([&](Operation *op) -> WalkResult {
    auto load = dyn_cast<LoadOp>(op);
    auto store = dyn_cast<StoreOp>(op);
    Value value = load ? load.getValue() : store ? store.getValue() : Value();
    if (!value || !isPair(spacesOf(value)))
      return WalkResult::advance();
    const PairBlocks blocks = *pairBlocksOf(load ? load.getBuffer() : store.getBuffer());
    if (elementOf(value).getIntOrFloatBitWidth() != 16)
      return refuse(op, "expected pairs of 16 bits in memory");
    if (load && !llvm::all_of(value.getUsers(), [&](Operation *user) {
          auto dot = dyn_cast<DotOp>(user);
          return dot && dot.getLhs() == value &&
                 dot.getAxis() == (owner == Owner::Rows ? "c" : "r");
        }))
      return refuse(op, "expected pairs from memory as the left operand of contractions over the "
                        "inner side");
    if ((blocks.lines == owner) != bool(store))
      return refuse(op, "expected pairs stored by the owners of lines and loaded by the others, "
                        "found a stage whose " +
                            sides[0] + " own");
    const bool fits = load ? blocks.line % inners == 0 && blocks.along % owners == 0
                           : owners % blocks.line == 0 && blocks.along % inners == 0;
    if (!fits)
      return refuse(op, "expected pairs in blocks of " + Twine(blocks.line) + " x " +
                            Twine(blocks.along) +
                            (load ? " to be multiples of those of the stage that loads them, found "
                                  : " to be a divisor and a multiple of those of the stage that "
                                    "stores them, found ") +
                            Twine(owners) + " " + sides[0] + " and " + Twine(inners) + " " +
                            sides[1] + "; --pairs-memory=0 keeps no pairs in memory");
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

LogicalResult mlir::tile::gpu::checkStage(StageOp stage, const GpuSchedule &schedule) {
  if (failed(checkValues(stage)) || failed(checkFits(stage, schedule)))
    return failure();
  if (stage.isOver("ks") || stage.getStream().getOverSplits())
    return refuse(stage,
                  "expected a stage that visits all keys, found one over splits of the keys");
  if (llvm::any_of(collectBuffers(stage), tableOf)) // pages-C7
    return refuse(stage, "expected keys and values as tensors, found pages(...), which run on CPUs "
                         "(pages-C7)");
  auto plan = stage->getParentOfType<PlanOp>();
  for (int64_t depth : {plan.getHeadDim(), plan.getValueDim()})
    if (depth % 8 || depth < 8 || depth > 256)
      return refuse(stage, "expected head and value dims to be multiples of 8 from 8 to 256, "
                           "found " +
                               Twine(depth));
  Operation *unknown = nullptr;
  auto isKnown = [](Operation *op) {
    return isa<ConstantOp, PositionOp, IndexOp, LoadOp, StoreOp, MapOp, DotOp, MaskOp, RandomOp,
               ReduceOp, RescaleOp, ScanOp, WindowOp, WindowDotOp, WindowSumOp, WindowOuterOp,
               SegmentsOp, NearOp, WindowGradOp, SegmentsGradOp, NearGradOp, StreamOp, YieldOp>(op);
  };
  for (Block *block : {&stage.getBody().front(), &stage.getStream().getBody().front()})
    for (Operation &op : *block)
      if (!isKnown(&op))
        unknown = &op;
      else if (convertsInMemory(&op))
        return refuse(&op, "expected values of the buffer's element type");
  if (unknown)
    return refuse(unknown, "'" + unknown->getName().getStringRef() + "' has no GPU form");
  if (failed(checkSums(stage, schedule)) || failed(checkPairs(stage, schedule)))
    return failure();
  const bool rows = getOwner(stage) == Owner::Rows;
  StringRef over = cast<StringAttr>(stage.getOver().getValue().back()).getValue();
  if (!rows && over != "hkv")
    return refuse(stage, "columns can own only a stage over hkv");
  for (ReduceOp reduce : stage.getBody().front().getOps<ReduceOp>())
    if (!rows && reduce->isBeforeInBlock(stage.getStream()))
      return reduce.emitOpError(
          "expected no reduction over the depths of rows before a stream that "
          "columns own; run pe-hoist-row-values first");
  return success();
}

namespace {

struct PETileToGpuPass : tile::impl::PETileToGpuPassBase<PETileToGpuPass> {
  using Base::Base;

  void runOnOperation() override {
    for (PlanOp plan : getOperation().getOps<PlanOp>())
      if (failed(checkKeyBlock(plan)))
        return signalPassFailure();
    SmallVector<StageOp> stages;
    getOperation().walk([&](StageOp stage) { stages.push_back(stage); });
    for (StageOp stage : stages) {
      if (failed(lower(stage)))
        return signalPassFailure();
      stage.erase();
    }
    contract();
    for (auto kernels : getOperation().getOps<mlir::gpu::GPUModuleOp>())
      if (failed(tile::gpu::callMathLibrary(kernels)))
        return signalPassFailure();
  }

private:
  LogicalResult lower(StageOp stage) {
    if (isScalarStage(stage)) {
      tile::gpu::lowerScalarStage(stage);
      return success();
    }
    if (!stage.getStream()) {
      if (failed(checkValues(stage)))
        return failure();
      tile::gpu::lowerVectorStage(stage);
      return success();
    }
    const GpuSchedule *schedule = step::scheduleOf<step::GpuAttr>(stage);
    if (!schedule)
      return stage.emitOpError("expected a schedule #step.gpu; run pe-schedule-gpu first");
    if (failed(tile::gpu::checkStage(stage, *schedule)))
      return failure();
    const StageProgram steps = programOf(stage, *schedule);
    if (failed(checkProgram(stage, *schedule, steps)))
      return failure();
    tile::gpu::lowerStreamStage(stage, *schedule, steps);
    return success();
  }

  /// Permits fusing products and sums into one rounding. Conversions do not get the flag: with it,
  /// MLIR folds extf(truncf(x)) to x, and `x - extf(truncf(x))`, the low part of a value that is
  /// kept as two f32 (passes/ToTile/LinePart.h), to 0.
  void contract() {
    auto none = arith::FastMathFlagsAttr::get(&getContext(), arith::FastMathFlags::none);
    auto fused = arith::FastMathFlagsAttr::get(&getContext(), arith::FastMathFlags::contract);
    getOperation().walk([&](mlir::gpu::GPUModuleOp kernels) {
      kernels.walk([&](arith::ArithFastMathInterface op) {
        const bool isConversion = isa<arith::ExtFOp, arith::TruncFOp>(op);
        op->setAttr(op.getFastMathAttrName(), isConversion ? none : fused);
      });
    });
  }
};

} // namespace
