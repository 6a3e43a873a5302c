//===- SplitSums.cpp - the pass pe-split-sums -----------------------------===//
#include "passes/ToGPU/ToGPU.h"

#include "dialect/Step/StepAttributes.h"
#include "dialect/Tile/Owner.h"
#include "passes/ToGPU/Emitters.h"
#include "passes/ToGPU/Folds.h"
#include "passes/ToGPU/KernelFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PESPLITSUMSPASS
#include "passes/ToGPU/Passes.h.inc"
} // namespace mlir::tile

/// The most slots of a table of distances. CTAs with the same slot are so many owner blocks apart
/// that the earlier one has finished when the later one starts, unless the grid is larger than any
/// chip, and one thread adds at most as many numbers. Memory remains linear in the length.
static constexpr int64_t kMostSlots = 256;

namespace {

/// Splits the sums of one stage.
class SumSplitter {
public:
  SumSplitter(StageOp stage, const GpuSchedule &schedule)
      : stage(stage), builder(stage), loc(stage.getLoc()),
        side(getOwner(stage) == Owner::Rows ? "r" : "c"), block(schedule.ownerBlock()) {}

  void run();

private:
  Value slotsFor(Value target, StringRef count);
  Value indexIn(MapOp map);
  void redirect(AccumulateOp sum, Value slots);
  void split(OpOperand &sum, StringRef count);

  StageOp stage;
  OpBuilder builder;
  Location loc;
  StringRef side;
  int64_t block;
  struct Split {
    Value target, slots;
    std::string count, suffix; // the number of slots; of the name of the added stage
  };
  void addSlots(const Split &split);
  SmallVector<Split> splits;
};

} // namespace

/// Returns the slots that replace `target`. They have its extents, except a second "hq", which is
/// the head itself.
Value SumSplitter::slotsFor(Value target, StringRef count) {
  for (const Split &split : splits)
    if (split.target == target && split.count == count)
      return split.slots;
  SmallVector<std::string> extents = {"b", "hq", count.str()};
  for (StringAttr extent : cast<BufferType>(target.getType()).getExtents().drop_front(2))
    if (extent.getValue() != "hq")
      extents.push_back(extent.str());
  const std::string suffix = "_slots" + std::to_string(splits.size());
  Value slots = tile::gpu::addTemporary(stage, suffix, extents, builder.getF32Type(), /*zero=*/true,
                                        SlotsAttr::get(builder.getContext(), side, block));
  splits.push_back({target, slots, count.str(), suffix});
  return slots;
}

/// Returns the row or column of the pair in the region of a map.
Value SumSplitter::indexIn(MapOp map) {
  Type index = builder.getIndexType();
  for (auto [input, argument] : llvm::zip(map.getInputs(), map.getBody().getArguments()))
    if (map.isIndexOf(argument, side))
      return argument;
  builder.setInsertionPoint(map);
  auto type = ValType::get(builder.getContext(), SpaceSet{side}, index);
  map.getInputsMutable().append(IndexOp::create(builder, loc, type, side).getResult());
  return map.getBody().addArgument(index, loc);
}

/// Replaces the buffer of a sum in a map. Its third index is the slot of the pair.
void SumSplitter::redirect(AccumulateOp sum, Value slots) {
  Value at = indexIn(sum->getParentOfType<MapOp>());
  builder.setInsertionPoint(sum);
  Value size = arith::ConstantIndexOp::create(builder, loc, block);
  SmallVector<Value> indices(sum.getIndices().take_front(2));
  indices.push_back(arith::DivUIOp::create(builder, loc, at, size));
  auto extents = cast<BufferType>(sum.getBuffer().getType()).getExtents();
  for (auto [extent, other] : llvm::drop_begin(llvm::zip(extents, sum.getIndices()), 2))
    if (extent != "hq")
      indices.push_back(other);
  sum.getBufferMutable().set(slots);
  sum.getIndicesMutable().assign(indices);
}

/// Adds a stage after `stage` that adds the slots to their target.
void SumSplitter::addSlots(const Split &split) {
  const auto &[target, slots, count, suffix] = split;
  builder.setInsertionPointAfter(stage);
  tile::gpu::enterStage(builder, stage, suffix);
  SmallVector<Value> at = tile::gpu::addElementLoop(builder, loc, slots);
  SmallVector<Value> to(at.begin(), at.begin() + 2);
  unsigned next = 3;
  for (StringAttr extent : cast<BufferType>(target.getType()).getExtents().drop_front(2))
    to.push_back(extent.getValue() == "hq" ? at[1] : at[next++]);
  Value value = ReadOp::create(builder, loc, builder.getF32Type(), slots, at, /*inbounds=*/true);
  AccumulateOp::create(builder, loc, value, target, to);
  YieldOp::create(builder, loc);
}

/// Replaces the buffer of a sum by slots, unless it has slots already.
void SumSplitter::split(OpOperand &sum, StringRef count) {
  if (slotsOf(sum.get()))
    return;
  Value slots = slotsFor(sum.get(), count);
  if (auto inMap = dyn_cast<AccumulateOp>(sum.getOwner()))
    redirect(inMap, slots);
  else
    sum.set(slots);
}

void SumSplitter::run() {
  SmallVector<OpOperand *> ofHeads, ofDistances;
  stage.getStream().getBody().walk([&](Operation *op) {
    if (auto sum = dyn_cast<AccumulateOp>(op); sum && tile::gpu::hasPlaceInHead(sum)) {
      ofHeads.push_back(&sum.getBufferMutable());
    } else if (auto grad = dyn_cast<WindowGradOp>(op)) {
      ofDistances.push_back(&grad.getTableMutable());
    } else if (auto segments = dyn_cast<SegmentsGradOp>(op)) {
      ofHeads.push_back(&segments.getMomentsMutable());
      for (OpOperand &sum : segments.getUGradMutable())
        ofDistances.push_back(&sum);
    }
  });
  const std::string blocks = ("ceildiv(" + side + "," + Twine(block) + ")").str();
  for (OpOperand *sum : ofHeads)
    split(*sum, blocks);
  for (OpOperand *sum : ofDistances)
    split(*sum, "min(" + blocks + "," + std::to_string(kMostSlots) + ")");
  for (const Split &split : splits)
    addSlots(split);
}

namespace {

struct PESplitSumsPass : tile::impl::PESplitSumsPassBase<PESplitSumsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<std::pair<StageOp, const GpuSchedule *>> stages;
    getOperation().walk([&](StageOp stage) {
      const GpuSchedule *schedule = step::scheduleOf<step::GpuAttr>(stage);
      if (schedule && stage.getStream())
        stages.emplace_back(stage, schedule);
    });
    for (auto [stage, schedule] : stages)
      SumSplitter(stage, *schedule).run();
  }
};

} // namespace
