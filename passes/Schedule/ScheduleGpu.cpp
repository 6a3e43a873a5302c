//===- ScheduleGpu.cpp - block sizes and warps for GPUs -------------------===//
#include "passes/Schedule/Schedule.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "pe-schedule-gpu"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PESCHEDULEGPUPASS
#include "passes/Schedule/Passes.h.inc"
} // namespace mlir::tile

/// Returns true if the sums for a piecewise function take more registers or shared memory than
/// those of a linear one of 64 pieces.
static bool isManySegments(Value coefficients) {
  auto extents = cast<BufferType>(coefficients.getType()).getExtents();
  int64_t pieces = 0;
  const bool isKnown =
      extents.size() >= 2 && !extents[extents.size() - 2].getValue().getAsInteger(10, pieces);
  return !isKnown || pieces > 64 || degreeOfSegments(coefficients) != 1;
}

namespace {

/// The traits that determine a stage's block sizes.
struct StageTraits {
  bool isWide = false;       // panels of f32
  bool hasSnapshots = false; // a vector per key block: stages with snapshots share the block size
  bool hasSegments = false;  // piecewise functions: more values per pair
  bool hasDiagonals = false; // adjoints of functions of the distance
  bool hasVectors = false;   // a panel with one vector for each distance in a block
  bool sumsColumns = false;  // sums over rows, such as gradients of keys
  bool isLong = false;       // long scalar code, which is repeated for every pair of a thread

  bool hasLoops = false;    // scalar code with loops, which keeps pairs in memory
  bool hasBounds = false;   // rows with bounds of their columns
  bool storesPairs = false; // its products with owners are another stage's
  bool readsPairs = false;  // a read for every pair, whose addresses take registers
  bool loadsPairs = false;  // another stage has stored them
  bool hasWindows = false;  // tables of the distance in shared memory

  bool hasManySegments = false; // piecewise functions that are not linear, or have many pieces
  unsigned carried = 0;         // values carried from block to block
  unsigned pairs = 0;           // values over pairs, and sums of them by row or column
  unsigned vectors = 0;         // tables with a vector for each distance

  /// Returns true if a stage keeps no more values per pair than softmax without a bias.
  bool hasFewValues() const {
    return pairs <= 8 && !hasBounds && !isWide && !hasSnapshots && !hasSegments && !hasDiagonals &&
           !hasVectors && !isLong && !hasLoops && !readsPairs;
  }

  explicit StageTraits(StageOp stage) {
    if (StreamOp stream = stage.getStream()) {
      carried = stream.getNumResults();
      for (Operation &op : stream.getBody().front().without_terminator())
        for (Value result : op.getResults())
          pairs += isa<ValType>(result.getType()) && isPair(spacesOf(result));
    }
    llvm::SmallDenseSet<Value> tables;
    isLong = hasLongScalarCode(stage);
    hasSnapshots = tile::hasSnapshots(stage);
    hasBounds = static_cast<bool>(stage.getLowColumns());
    stage.walk([&](Operation *op) {
      pairs += isa<AccumulateOp>(op);
      hasLoops |= isa<scf::ForOp>(op) && op->getParentOfType<MapOp>();
      readsPairs |=
          (isa<ReadOp>(op) && op->getParentOfType<MapOp>()) || isa<NearOp, NearGradOp>(op);
      if (auto store = dyn_cast<StoreOp>(op))
        storesPairs |= isPair(spacesOf(store.getValue()));
      if (auto grad = dyn_cast<SegmentsGradOp>(op))
        hasManySegments |= isManySegments(grad.getCoefficients());
      hasSegments |= isa<SegmentsOp, SegmentsGradOp>(op);
      hasDiagonals |= isa<SegmentsGradOp, WindowGradOp, WindowOuterOp>(op);
      hasWindows |= isa<WindowOp>(op);
      if (auto dot = dyn_cast<WindowDotOp>(op))
        tables.insert(dot.getTable());
      if (auto sum = dyn_cast<WindowSumOp>(op))
        tables.insert(sum.getTable());
      if (auto load = dyn_cast<LoadOp>(op)) {
        auto type = cast<ValType>(load.getValue().getType());
        isWide |= hasDepth(type.getSpaces()) && type.getElementType().isF32();
        loadsPairs |= isPair(type.getSpaces());
      }
      if (auto dot = dyn_cast<DotOp>(op))
        sumsColumns |= dot.getAxis() == "r";
    });
    vectors = tables.size();
    hasVectors = vectors > 0;
  }
};

/// Lists the traits of a stage.
static std::string describeTraits(const StageTraits &traits) {
  std::string text;
  for (auto [has, name] :
       {std::pair(traits.isWide, "panels of f32"), std::pair(traits.hasSnapshots, "snapshots"),
        std::pair(traits.hasSegments, "segments"), std::pair(traits.hasDiagonals, "diagonals"),
        std::pair(traits.hasVectors, "distance vectors"),
        std::pair(traits.sumsColumns, "sums over rows"), std::pair(traits.isLong, "long code"),
        std::pair(traits.hasLoops, "loops"), std::pair(traits.readsPairs, "reads of pairs")})
    if (has)
      text += (text.empty() ? "" : ", ") + std::string(name);
  return text.empty() ? "a plain stage" : text;
}

} // namespace

static int64_t largestDepthOf(PlanOp plan) {
  return std::max(plan.getHeadDim(), plan.getValueDim());
}

int64_t mlir::tile::chooseGpuKeyBlock(PlanOp plan) {
  if (plan.getKeyBlock())
    return *plan.getKeyBlock(); // keep the existing choice
  int64_t bytes = 2;
  for (StageOp stage : plan.getOps<StageOp>())
    if (stage.getStream() && StageTraits(stage).isWide)
      bytes = 4;
  const int64_t keys = 8192 / (llvm::PowerOf2Ceil(largestDepthOf(plan)) * bytes);
  return std::clamp<int64_t>(keys, 16, 64);
}

/// Chooses the inner block. Registers and shared memory grow with the depth, the element width and
/// the values kept per pair; smaller blocks compensate for that (scripts/check-ptx shows the
/// usage).
static int64_t chooseInnerBlock(const StageTraits &traits, int64_t depth) {
  const bool isDeep = depth > (traits.isWide ? 32 : 64), isVeryDeep = traits.isWide && depth > 64;
  if (traits.sumsColumns && traits.hasSegments) {
    const bool fits = traits.storesPairs && !traits.hasManySegments && !traits.hasBounds;
    return (isDeep && !fits) || traits.hasLoops ? 16 : 32;
  }
  if (isVeryDeep || traits.isLong)
    return 16;
  return isDeep || traits.readsPairs || (traits.hasVectors && traits.sumsColumns) ? 32
         : traits.hasSegments && !traits.isWide                                   ? 48
                                                                                  : 64;
}

/// Reduces the blocks of a stage with a panel of distance vectors. A block has as many of them as
/// rows and columns together: if they are deep, only small blocks fit.
static GpuSchedule chooseForVectors(GpuSchedule schedule, const StageTraits &traits, int64_t depth,
                                    bool isSmall) {
  const bool isLarge = depth > 64;
  if (traits.isWide && (isLarge || isSmall))
    schedule.warps = isLarge && isSmall ? 1 : 2;
  if (isSmall && !traits.hasSnapshots)
    schedule.innerBlock = 16;
  return schedule;
}

/// Chooses the blocks of a stage whose rows own two tiles per warp and sum nothing over rows.
static GpuSchedule chooseForRows(GpuSchedule schedule, const StageTraits &traits, int64_t depth,
                                 bool isSmall, bool hasWindow) {
  const bool isDeep = depth > 64;
  const bool keepsBlock = traits.hasSegments || traits.readsPairs || traits.hasLoops;
  if (isSmall && isDeep) { // a single CTA fits, and with eight warps it has two per scheduler
    schedule.warps = 8, schedule.ownerTiles = 1;
    schedule.innerBlock = keepsBlock ? schedule.innerBlock : 48;
  } else if (isSmall && depth > 32 && !keepsBlock) {
    schedule.innerBlock = 32; // another CTA fits
  } else if (isDeep && traits.hasFewValues() && traits.pairs <= 5 && !traits.hasWindows &&
             !hasWindow) {
    schedule.innerBlock = 48; // fits the registers without a bias, and has fewer barriers
  }
  return schedule;
}

GpuSchedule mlir::tile::chooseGpuSchedule(StageOp stage, const Machine &machine) {
  auto plan = stage->getParentOfType<PlanOp>();
  const StageTraits traits(stage);
  const int64_t depth = largestDepthOf(plan);
  GpuSchedule schedule;
  schedule.ownerWord = static_cast<int64_t>(chooseOwner(stage, machine));
  schedule.innerBlock =
      traits.hasSnapshots ? chooseGpuKeyBlock(plan) : chooseInnerBlock(traits, depth);
  // Two owner tiles per warp halve the shared memory reads per product, which limit the speed of a
  // single tile (scripts/gpu-model choose; scripts/gpumodel/choices.json).
  const bool hasRoom =
      depth <= (traits.hasSnapshots ? 64 : 128) &&
      !(traits.hasSnapshots && traits.carried > 2); // the third is the log of the remaining mass
  if (!traits.isWide && !traits.sumsColumns && !traits.isLong && !traits.hasVectors && hasRoom)
    schedule.ownerTiles = 2;
  // Sums of both sides fit the registers of such warps up to a depth of 64 if blocks are smaller.
  // CTAs then take half as many turns per pair (docs/benchmarks/gpu.md).
  if (traits.sumsColumns && traits.hasFewValues() && depth > 32 && depth <= 64)
    schedule.ownerTiles = 2, schedule.innerBlock = 32;
  const bool isSmall = machine.sharedBytes < ::pe::plan::findMachine("sm_80")->sharedBytes;
  if (schedule.ownerTiles == 2 && !traits.sumsColumns && !traits.hasSnapshots && !traits.loadsPairs)
    schedule = chooseForRows(schedule, traits, depth, isSmall,
                             /*hasWindow=*/stage.getBand().lower.has_value());
  if (traits.hasVectors && depth > (traits.isWide ? 32 : 64)) // two panels of vectors are large
    return chooseForVectors(schedule, traits, depth,
                            isSmall || (!traits.isWide && traits.vectors > 1));
  const bool isLarge =
      depth > (traits.hasSnapshots || (traits.hasSegments && traits.sumsColumns) ? 32 : 64);
  const bool needsSquares = traits.hasDiagonals && schedule.innerBlock > 32;
  // Chips with less shared memory than sm_80 fit half as many f32 owners.
  if (traits.isWide && isLarge && !needsSquares && isSmall)
    schedule.warps = 2;
  return schedule;
}

/// Reduces the shared memory of a stage by one step, unless it has the smallest blocks. Stages with
/// snapshots share their key block.
static void shrink(GpuSchedule &schedule, StageOp stage) {
  if (schedule.lateSlots > 1)
    schedule.lateSlots = 1;
  else if (schedule.innerBlock > 16 && !tile::hasSnapshots(stage))
    schedule.innerBlock = schedule.innerBlock == 48 ? 32 : schedule.innerBlock / 2;
  else if (schedule.ownerTiles > 1)
    schedule.ownerTiles = 1;
  else if (schedule.warps > 1)
    schedule.warps /= 2;
}

/// Returns true if a stream sums panels of its inner side, or vectors of the distance, which the
/// warps of a CTA divide.
static bool sumsInnerPanels(StreamOp stream, Owner owner) {
  StringRef inner = owner == Owner::Rows ? "c" : "r";
  const bool hasVectors = !stream.getBody().getOps<WindowOuterOp>().empty();
  return hasVectors || llvm::any_of(stream.getResultTypes(), [&](Type type) {
           const SpaceSet &spaces = cast<ValType>(type).getSpaces();
           return spaces.has(inner) && hasDepth(spaces);
         });
}

LogicalResult mlir::tile::checkFits(StageOp stage, const GpuSchedule &schedule) {
  const int64_t rows = schedule.warps * 16, inner = schedule.innerBlock;
  if (inner % rows == 0 || rows % inner == 0 ||
      !sumsInnerPanels(stage.getStream(), schedule.owner()))
    return success();
  return stage.emitOpError("expected inner_block to be a multiple or a divisor of 16 warps, ")
         << rows << ", for sums over the owners, found " << inner << " (step-C3)"; // step-C3
}

namespace {

struct PEScheduleGpuPass : tile::impl::PEScheduleGpuPassBase<PEScheduleGpuPass> {
  using Base::Base;
  void runOnOperation() override {
    const Machine *gpu = findMachine(getOperation(), machine, /*isGpu=*/true);
    if (!gpu)
      return signalPassFailure();
    auto overrides = Overrides<GpuSchedule>::parse(&getContext(), ArrayRef<std::string>(set));
    if (failed(overrides))
      return signalPassFailure();
    for (PlanOp plan : getOperation().getOps<PlanOp>())
      if (failed(schedule(plan, *gpu, *overrides)))
        return signalPassFailure();
    if (failed(overrides->checkUse(&getContext())))
      return signalPassFailure();
  }

private:
  int64_t halve(int64_t keyBlock) const {
    return std::max<int64_t>(16, keyBlock >> std::min<int64_t>(smallerKeyBlock, 8));
  }
  LogicalResult schedule(PlanOp plan, const Machine &gpu, Overrides<GpuSchedule> &overrides) {
    for (StageOp stage : plan.getOps<StageOp>()) {
      if (!stage.getStream())
        continue;
      GpuSchedule chosen = chooseGpuSchedule(stage, gpu);
      if (tile::hasSnapshots(stage))
        chosen.innerBlock = halve(chosen.innerBlock);
      const bool isBackward = stage.getPhase() == Phase::Backward;
      for (int64_t step = isBackward ? smallerBackward : smallerForward; step > 0; --step)
        shrink(chosen, stage);
      FailureOr<bool> isNew = giveSchedule<step::GpuAttr>(stage, chosen, overrides);
      if (failed(isNew) || failed(checkFits(stage, *step::scheduleOf<step::GpuAttr>(stage))))
        return failure();
      if (*isNew)
        LDBG() << stage.getSymName() << ": " << stage.getScheduleAttr() << " for "
               << describeTraits(StageTraits(stage)) << " of depth " << largestDepthOf(plan)
               << (set.empty() ? "" : ", with fields of `set`");
    }
    const int64_t keyBlock = chooseGpuKeyBlock(plan);
    return writeKeyBlock(plan, plan.getKeyBlock() ? keyBlock : halve(keyBlock));
  }
};

} // namespace
