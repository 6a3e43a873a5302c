//===- SpillPairs.cpp - the pass pe-spill-pairs ---------------------------===//
#include "passes/ToGPU/ToGPU.h"

#include "dialect/Tile/Place.h"
#include "passes/Schedule/Schedule.h"
#include "passes/ToGPU/KernelFunction.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;

namespace mlir::tile {
#define GEN_PASS_DEF_PESPILLPAIRSPASS
#include "passes/ToGPU/Passes.h.inc"
} // namespace mlir::tile

/// The blocks of pairs in memory: owners of a CTA that stores them, and multiples of the blocks of
/// a stage that loads them.
static constexpr int64_t kLine = 64, kAlong = 128;

namespace {

/// Moves the folds over the owners of a stage to a stage with the other owner.
class PairSpiller {
public:
  PairSpiller(StageOp stage, Owner owner, int64_t bits, int64_t memory)
      : stage(stage), stream(stage.getStream()), owner(owner),
        line(owner == Owner::Rows ? "r" : "c"), along(owner == Owner::Rows ? "c" : "r"), bits(bits),
        mostBlocks((memory << 23) / (kLine * kAlong * bits)), builder(stage) {}

  bool isPossible();
  void run();

private:
  DotOp foldedProduct(unsigned index);
  std::string countBlocks() const;
  StageOp clone(const Twine &suffix, ArrayAttr over);
  StreamOp rebuildStream(StageOp made, ArrayRef<unsigned> kept);
  void storePairs(StageOp made);
  void foldPairs(StageOp made);

  StageOp stage;
  StreamOp stream;
  const Owner owner;
  const StringRef line, along; // the spaces of both sides
  const int64_t bits, mostBlocks;
  OpBuilder builder;
  SmallVector<unsigned> folds, others;  // results of the stream
  llvm::MapVector<Value, Value> memory; // by the pairs of the stage
};

} // namespace

/// Returns the contraction over the owners of pairs and a panel from memory that a fold adds up, or
/// null.
DotOp PairSpiller::foldedProduct(unsigned index) {
  auto dot = stream.getYielded(index).getDefiningOp<DotOp>();
  if (!dot || dot.getAxis() != line || dot.getInit() || !dot->hasOneUse())
    return {};
  auto panel = dot.getRhs().getDefiningOp<LoadOp>();
  const bool fits = isPair(spacesOf(dot.getLhs())) && panel &&
                    elementOf(dot.getLhs()).getIntOrFloatBitWidth() == bits &&
                    !dot.getLhs().getDefiningOp<LoadOp>();
  return fits ? dot : DotOp();
}

/// Finds the folds over owners. All of them must be products of pairs; otherwise CTAs would take
/// turns at panels nevertheless.
bool PairSpiller::isPossible() {
  if (stage.getWhen() || stream.getOverSplits())
    return false;
  for (unsigned i = 0, e = stream.getNumResults(); i < e; ++i) {
    if (i < stream.getNumCarries() || spacesOf(stream.getResult(i)).has(line)) {
      others.push_back(i);
      continue;
    }
    if (!foldedProduct(i))
      return false;
    folds.push_back(i);
  }
  // A sum of vectors of the distance takes turns in each step.
  return !folds.empty() && !others.empty() && stream.getBody().getOps<WindowOuterOp>().empty();
}

std::string PairSpiller::countBlocks() const {
  const std::string times = memory.size() > 1 ? std::to_string(memory.size()) + "*" : "";
  return times + "b*hq*ceildiv(" + line.str() + "," + std::to_string(kLine) + ")*ceildiv(" +
         along.str() + "," + std::to_string(kAlong) + ")";
}

/// Clones the stage before itself, for calls whose pairs fit the memory.
StageOp PairSpiller::clone(const Twine &suffix, ArrayAttr over) {
  auto made = cast<StageOp>(builder.clone(*stage));
  made.setSymName((stage.getSymName() + suffix).str());
  made.setOverAttr(over);
  made.setWhen((Twine(mostBlocks + 1) + "-" + countBlocks()).str());
  return made;
}

/// Replaces the stream by one with the results `kept`. Removes the ops that depend on the others,
/// and those without a use.
StreamOp PairSpiller::rebuildStream(StageOp made, ArrayRef<unsigned> kept) {
  StreamOp old = made.getStream();
  SmallVector<Type> types;
  SmallVector<Value> yielded;
  for (unsigned index : kept) {
    types.push_back(old.getResult(index).getType());
    yielded.push_back(old.getYielded(index));
  }
  OpBuilder at(old);
  // The carries are the first results. Without them, blocks may have any order.
  const bool hasCarries = old.getNumCarries() && kept.front() == 0;
  auto fresh =
      hasCarries
          ? StreamOp::create(at, old.getLoc(), types, old.getOrder(), old.getCarries(),
                             old.getStopCarryAttr(), old.getStopBelowAttr(), old.getSkipBelowAttr(),
                             old.getSkipBuffer(), /*over_splits=*/false)
          : StreamOp::create(at, old.getLoc(), types, Order::Any, ValueRange(), IntegerAttr(),
                             FloatAttr(), FloatAttr(), /*skip_buffer=*/Value(),
                             /*over_splits=*/false);
  fresh.getBody().takeBody(old.getBody());
  fresh.getBody().front().getTerminator()->setOperands(yielded);
  for (auto [position, index] : llvm::enumerate(kept))
    old.getResult(index).replaceAllUsesWith(fresh.getResult(position));
  llvm::SetVector<Operation *> gone;
  gone.insert(old);
  for (size_t i = 0; i < gone.size(); ++i)
    for (Operation *user : gone[i]->getUsers())
      gone.insert(user);
  for (Operation *op : llvm::reverse(gone))
    op->erase();
  return fresh;
}

static void eraseUnused(StageOp made) {
  for (Block *block : {&made.getStream().getBody().front(), &made.getBody().front()})
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (isOpTriviallyDead(&op) && !isa<StreamOp>(op))
        op.erase();
}

/// Makes `made` store the pairs and compute the other folds.
void PairSpiller::storePairs(StageOp made) {
  llvm::MapVector<Value, Value> stored; // by the pairs of `made`
  for (unsigned index : folds) {
    auto dot = cast<DotOp>(made.getStream().getYielded(index).getDefiningOp());
    stored[dot.getLhs()] = memory.lookup(foldedProduct(index).getLhs());
  }
  StreamOp fresh = rebuildStream(made, others);
  OpBuilder at(fresh.getBody().front().getTerminator());
  for (auto [pairs, buffer] : stored)
    StoreOp::create(at, pairs.getLoc(), pairs, buffer);
  eraseUnused(made);
}

/// Makes `made` load the pairs and compute the folds.
void PairSpiller::foldPairs(StageOp made) {
  StreamOp old = made.getStream();
  // The other stage does what the stream writes or adds to.
  for (Operation &op : llvm::make_early_inc_range(old.getBody().front().without_terminator()))
    if (op.getNumResults() == 0)
      op.erase();
  llvm::MapVector<Value, Value> loaded; // by the pairs of `made`
  for (unsigned index : folds) {
    auto dot = cast<DotOp>(old.getYielded(index).getDefiningOp());
    Value &load = loaded[dot.getLhs()];
    OpBuilder at(dot);
    if (!load)
      load = LoadOp::create(at, dot.getLoc(), dot.getLhs().getType(),
                            memory.lookup(foldedProduct(index).getLhs()));
    dot.getLhsMutable().set(load);
  }
  StreamOp fresh = rebuildStream(made, folds);
  eraseUnused(made);
  fresh.getBody().front().eraseArguments([](BlockArgument) { return true; });
}

void PairSpiller::run() {
  auto whole = [](StringRef space, int64_t block) {
    const std::string size = std::to_string(block);
    return "ceildiv(" + space.str() + "," + size + ")*" + size;
  };
  for (unsigned index : folds) {
    Value pairs = foldedProduct(index).getLhs();
    if (Value &buffer = memory[pairs]; !buffer)
      buffer = tile::gpu::addTemporary(stage, "_pairs" + Twine(memory.size() - 1),
                                       {"b", "hq", whole(line, kLine), whole(along, kAlong)},
                                       elementOf(pairs), /*zero=*/false);
  }
  storePairs(clone("_pairs", stage.getOver()));
  StringRef heads = owner == Owner::Rows ? "hkv" : "hq";
  foldPairs(clone("_products", builder.getStrArrayAttr({"b", heads})));
  stage.setWhen((countBlocks() + "-" + Twine(mostBlocks)).str());
}

namespace {

struct PESpillPairsPass : tile::impl::PESpillPairsPassBase<PESpillPairsPass> {
  using Base::Base;

  void runOnOperation() override {
    const Machine *gpu = findMachine(getOperation(), machine, /*isGpu=*/true);
    if (!gpu)
      return signalPassFailure();
    if (memory == 0)
      return;
    SmallVector<StageOp> stages;
    getOperation().walk([&](StageOp stage) { stages.push_back(stage); });
    for (StageOp stage : stages) {
      auto plan = stage->getParentOfType<PlanOp>();
      if (!stage.getStream() || stage.getScheduleAttr() || !stage.isOver("hkv") ||
          static_cast<int64_t>(std::max(plan.getHeadDim(), plan.getValueDim())) < depth ||
          stage.getPhase() != Phase::Backward)
        continue;
      PairSpiller spiller(stage, chooseOwner(stage, *gpu), bits, memory);
      if (spiller.isPossible())
        spiller.run();
    }
  }
};

} // namespace
