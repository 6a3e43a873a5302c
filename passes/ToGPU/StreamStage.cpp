//===- StreamStage.cpp - the loop over inner blocks -----------------------===//
//
// A CTA loads the panels of its owners once and streams blocks of the inner side through two copies
// in shared memory: while it works on one block, the next is copied. Blocks outside the mask are
// never visited. With rows as owners a CTA belongs to one query head; with columns as owners it
// visits the rows of every query head of its key head in turn.
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/Folds.h"
#include "passes/ToGPU/FragmentKernel.h"
#include "passes/ToGPU/Sums.h"
#include "passes/ToGPU/ToGPU.h"

#include "passes/ToLoops/StageFunction.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

namespace {

constexpr int64_t kCopies = 2;

class StreamStage {
public:
  StreamStage(StageOp stage, const GpuSchedule &schedule, KernelFunction &fn, OuterFolds &folds,
              PairSums &sums, Value itemCounter)
      : k(stage, schedule, fn), b(k.b), folds(folds), sums(sums), itemCounter(itemCounter) {
    k.sums = &sums;
  }

  void run();

private:
  Num takeItem();
  void decodeItem();
  void findRange();
  void loadOwners();
  void declareInner();
  void startCopies(const Num &step);
  void enterStep(const Num &step);
  void beginStep(const Num &step);
  SmallVector<Value> emitStep(const Num &step, ValueRange carried);
  /// The same where the stream may stop early: the last value carried says whether it goes on.
  SmallVector<Value> emitStepOrSkip(const Num &step, ValueRange carried);
  /// The same where blocks may be left out whose snapshot is too small to matter.
  SmallVector<Value> emitStepUnlessSmall(const Num &step, ValueRange carried);
  Value isAnyAtLeast(const Registers &values, double bound);
  void leaveOut(const Num &step);
  Value isFullBlock();
  bool isInnerSide(Value value) {
    const SpaceSet &s = spacesOf(value);
    return !isPair(s) && !s.isEmpty() && !k.isOwnerSide(s);
  }
  std::string items();

  FragmentKernel k;
  KernelBuilder &b;
  OuterFolds &folds;
  PairSums &sums;
  Value itemCounter; // where CTAs take turns
  Num ownerBlocks, firstInner, innerCount, steps, group;
  Num perHead;           // innerCount, or 1 where there are no steps: a divisor
  int64_t stopSlots = 0; // in shared memory: a number per warp
  SmallVector<LoadOp> innerPanels;
  SmallVector<MapOp> innerRoundings; // of inner panels, before anyone reads them
  SmallVector<Operation *> perStep;  // ops of the stage on the inner side, then the stream's
};

/// Which item this CTA works on. Where it may wait for lower items it takes the next one from a
/// counter: whoever has taken a lower one is running or has finished, in whatever order CTAs start.
Num StreamStage::takeItem() {
  if (!itemCounter)
    return b.blockIndex();
  Value slot = b.shared(k.fn.shared(), k.allocate(4));
  b.ifThen(b.compare(arith::CmpIPredicate::eq, k.thread, 0),
           [&] { b.store(b.countUp(k.fn.pointer(itemCounter)), slot); });
  b.barrier();
  return b.fromValue(b.load(b.i32(), slot));
}

/// Heads and owner block of this CTA. Later items have less to do where the mask is causal, and a
/// fold's order starts with the lowest items.
void StreamStage::decodeItem() {
  Num item = takeItem();
  Num extent = k.rowsOwn ? k.rows : k.columns;
  ownerBlocks = ceilDiv(extent, Num(k.schedule.ownerBlock()));
  k.ownerBlock = ownerBlocks - Num(1) - item % ownerBlocks;
  k.ownerBase = k.ownerBlock * Num(k.schedule.ownerBlock());
  Num rest = item / ownerBlocks;
  group = k.fn.size("hq") / k.fn.size("hkv");
  Num heads = k.fn.size(k.rowsOwn ? "hq" : "hkv");
  k.batch = rest / heads;
  if (k.rowsOwn) {
    k.queryHead = rest % heads;
    k.keyHead = k.queryHead / group;
  } else {
    k.keyHead = rest % heads;
    k.queryHead = k.keyHead * group;
  }
}

std::string StreamStage::items() {
  return std::string("b*") + (k.rowsOwn ? "hq*ceildiv(r," : "hkv*ceildiv(c,") +
         std::to_string(k.schedule.ownerBlock()) + ")";
}

void StreamStage::findRange() {
  Interval<Num> visited = k.innerBlocksOf(k.ownerBlock);
  firstInner = visited.begin, innerCount = visited.end - visited.begin;
  steps = k.rowsOwn ? innerCount : innerCount * group;
  perHead = maxOf(innerCount, Num(1));
}

void StreamStage::loadOwners() {
  Num limit = k.rowsOwn ? k.rows : k.columns;
  bool any = false;
  auto load = [&](Operation &op) {
    auto loadOp = dyn_cast<LoadOp>(op);
    if (!loadOp || !hasDepth(spacesOf(loadOp.getValue())) || isInnerSide(loadOp.getValue()))
      return;
    Type element = cast<ValType>(loadOp.getValue().getType()).getElementType();
    Panel panel = k.makePanel(k.schedule.ownerBlock(), k.depthOf(spacesOf(loadOp.getValue())),
                              element, /*copies=*/1);
    copyPanel(k, panel, loadOp, k.ownerBase, limit, /*permuted=*/false);
    k.panels[loadOp.getValue()] = panel;
    any = true;
  };
  for (Operation &op : k.stage.getBody().front()) {
    if (isa<StreamOp>(op))
      break;
    load(op);
  }
  for (Operation &op : k.stream.getBody().front())
    load(op);
  // The first step waits for all copies; what is read before that waits itself (mapPanel).
  if (any)
    b.commitCopies();
}

/// Inner panels, and every op that must be repeated for each block.
void StreamStage::declareInner() {
  auto declare = [&](LoadOp load) {
    const SpaceSet &s = spacesOf(load.getValue());
    Type element = cast<ValType>(load.getValue().getType()).getElementType();
    k.panels[load.getValue()] = k.makePanel(k.schedule.innerBlock, k.depthOf(s), element, kCopies);
    innerPanels.push_back(load);
  };
  auto place = [&](Operation &op, bool inStream) {
    auto load = dyn_cast<LoadOp>(op);
    const bool isPanel = load && hasDepth(spacesOf(load.getValue()));
    if (isPanel && isInnerSide(load.getValue()))
      return declare(load);
    if (isPanel)
      return;
    if (auto map = dyn_cast<MapOp>(op); map && isRoundingInPlace(map)) {
      if (isInnerSide(map.getResult(0)))
        innerRoundings.push_back(map);
      else
        emitMap(k, map);
      return;
    }
    // A number of the head changes with the step where columns own.
    auto changes = [&](Value value) {
      return isInnerSide(value) || (!k.rowsOwn && spacesOf(value).isEmpty());
    };
    const bool isInner = op.getNumResults() && changes(op.getResult(0));
    if (inStream || isInner)
      perStep.push_back(&op);
    else
      emitOp(k, &op);
  };
  for (Operation &op : k.stage.getBody().front()) {
    if (isa<StreamOp>(op))
      break;
    place(op, /*inStream=*/false);
  }
  for (Operation &op : k.stream.getBody().front().without_terminator())
    place(op, /*inStream=*/true);
  declareWindows(k, kCopies);
}

//===- One step -----------------------------------------------------------------===//

/// Heads and inner block of a step.
void StreamStage::enterStep(const Num &step) {
  Num within = step;
  if (!k.rowsOwn) {
    k.queryHead = k.keyHead * group + step / perHead;
    within = step % perHead;
  }
  const bool descending = k.stream.getOrder() == Order::Descending;
  k.innerBlock = descending ? firstInner + innerCount - Num(1) - within : firstInner + within;
  k.innerBase = k.innerBlock * Num(k.schedule.innerBlock);
}

void StreamStage::startCopies(const Num &step) {
  enterStep(step);
  for (LoadOp load : innerPanels) {
    Panel panel = k.panels[load.getValue()];
    panel.stage = step % Num(kCopies);
    copyPanel(k, panel, load, k.innerBase, k.rowsOwn ? k.columns : k.rows, k.isPermuted);
  }
  for (auto [table, window] : k.windows) {
    window.stage = step % Num(kCopies);
    copyWindow(k, table, window);
  }
}

/// Every pair of the warp (of the lane, where rows have bounds of their own) and the block exists
/// and is inside the mask.
Value StreamStage::isFullBlock() {
  Num owner = k.ownerBase + k.warp * Num(k.layout.ownerTiles * 16);
  Num ownerEnd = owner + Num(k.layout.ownerTiles * 16);
  Num inner = k.innerBase, innerEnd = k.innerBase + Num(k.schedule.innerBlock);
  Num row = k.rowsOwn ? owner : inner, rowEnd = k.rowsOwn ? ownerEnd : innerEnd;
  Num column = k.rowsOwn ? inner : owner, columnEnd = k.rowsOwn ? innerEnd : ownerEnd;
  auto atMost = [&](const Num &x, const Num &y) {
    return b.compare(arith::CmpIPredicate::sle, x, y);
  };
  Value isFull = b.both(atMost(rowEnd, k.rows), atMost(k.mask.rows.begin, row));
  // The last row keeps the first column, the first row the last one.
  if (k.mask.lower)
    isFull = b.both(isFull, atMost(rowEnd - Num(1) + *k.mask.lower, column));
  Num end = k.mask.upper ? minOf(k.columns, row + *k.mask.upper) : k.columns;
  isFull = b.both(isFull, atMost(columnEnd, end));
  return k.lowColumns.empty() ? isFull : b.both(isFull, areBoundsFull(k, column, columnEnd));
}

/// Waits for the step's block, starts copying the next one, and enters the step.
void StreamStage::beginStep(const Num &step) {
  b.waitForCopies(0);
  for (MapOp map : innerRoundings) {
    Panel panel = k.panelOf(map.getInputs()[0]);
    panel.stage = step % Num(kCopies);
    mapChunks(k, map, panel, panel);
  }
  b.barrier();
  Num next = step + Num(1);
  b.ifThen(b.less(next, steps), [&] { startCopies(next); });
  b.commitCopies();
  enterStep(step);
  for (LoadOp load : innerPanels)
    k.panels[load.getValue()].stage = step % Num(kCopies);
  for (MapOp map : innerRoundings) {
    Panel panel = k.panelOf(map.getInputs()[0]);
    k.panels[map.getResult(0)] = panel;
  }
  for (auto &[table, window] : k.windows)
    window.stage = step % Num(kCopies);
  k.kinks.clear();
  if (!k.rowsOwn)
    loadRowBounds(k);
  k.isFull = isFullBlock();

  Num within = k.rowsOwn ? step : step % perHead;
  sums.beginStep(k,
                 {b.compare(arith::CmpIPredicate::eq, within, 0),
                  b.compare(arith::CmpIPredicate::eq, within + Num(1), innerCount), ownerBlocks});
}

SmallVector<Value> StreamStage::emitStep(const Num &step, ValueRange carried) {
  beginStep(step);
  // Carries and folds of this CTA, as registers.
  Block &body = k.stream.getBody().front();
  SmallVector<Registers> carriedSums;
  for (auto [index, result] : llvm::enumerate(k.stream.getResults())) {
    const SpaceSet &s = spacesOf(result);
    Registers registers;
    if (!folds.isOuter(index)) {
      registers.assign(carried.begin(), carried.begin() + k.registersOf(s));
      carried = carried.drop_front(k.registersOf(s));
    }
    if (index < k.stream.getCarries().size())
      k.set(body.getArgument(index), registers);
    else if (auto dot = k.stream.getYielded(index).getDefiningOp<DotOp>();
             dot && !dot.getInit() && !registers.empty())
      k.foldStart[dot.getOutput()] = registers; // the dot adds to the fold
    carriedSums.push_back(std::move(registers));
  }
  for (Operation *op : perStep)
    emitOp(k, op);
  SmallVector<Value> yielded;
  for (auto [index, result] : llvm::enumerate(k.stream.getResults())) {
    if (folds.isOuter(index))
      continue;
    Value value = k.stream.getYielded(index);
    Registers &registers = k.registers(value);
    const bool isSummed = index < k.stream.getCarries().size() || k.foldStart.count(value);
    for (auto [sum, x] : llvm::zip(carriedSums[index], registers))
      yielded.push_back(isSummed ? x : b.add(sum, x));
  }
  folds.emitStep(k);
  takeTurns(k, std::exchange(k.turns, {}));
  sums.endStep(k);
  return yielded;
}

//===- Stopping early ---------------------------------------------------------------===//

/// Whether some row of the CTA has its value at the bound or above, or a NaN; the same in all
/// threads.
Value StreamStage::isAnyAtLeast(const Registers &values, double bound) {
  Value zero = b.number(0.0), largest = zero; // 1 for such a row
  for (auto [index, value] : llvm::enumerate(values)) {
    Num row = k.rowAt(k.elementAt({"r"}, index));
    Value exists =
        b.both(b.less(row, k.rows), b.compare(arith::CmpIPredicate::sge, row, k.mask.rows.begin));
    Value isLarge = b.create<arith::CmpFOp>(arith::CmpFPredicate::UGE, value, b.number(bound));
    largest = b.select(b.both(exists, isLarge), b.number(1.0), largest);
  }
  for (int mask : {4, 8, 16}) // the lanes of a quad have the same rows
    largest = b.max(largest, b.shuffleXor(largest, mask));
  auto slot = [&](const Num &warp) {
    return b.shared(k.fn.shared(), warp * Num(4) + Num(stopSlots));
  };
  b.ifThen(b.compare(arith::CmpIPredicate::eq, k.lane, 0), [&] { b.store(largest, slot(k.warp)); });
  b.barrier(); // the next step's first barrier stands before the next write
  for (int64_t w = 0; w < k.schedule.warps; ++w)
    largest = b.max(largest, b.load(b.f32(), slot(Num(w))));
  return b.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, largest, zero);
}

/// The snapshot of the step's block decides. What the block would add to sums of other CTAs is
/// zero, but its turn at them is taken.
SmallVector<Value> StreamStage::emitStepUnlessSmall(const Num &step, ValueRange carried) {
  enterStep(step);
  Registers snapshot;
  for (int64_t i = 0, e = k.registersOf({"r"}); i < e; ++i) {
    Place place = k.place();
    place.kb = k.innerBlock;
    place.r = minOf(k.rowAt(k.elementAt({"r"}, i)), k.rows - Num(1));
    snapshot.push_back(b.load(b.f32(), k.fn.address(k.stream.getSkipBuffer(), place)));
  }
  Value matters = isAnyAtLeast(snapshot, k.stream.getSkipBelow()->convertToDouble());
  return b.ifElse(
      matters, SmallVector<Type>(carried.getTypes()), [&] { return emitStep(step, carried); },
      [&] {
        leaveOut(step);
        return SmallVector<Value>(carried);
      });
}

void StreamStage::leaveOut(const Num &step) {
  // All threads have left the step before (isAnyAtLeast has a barrier); of this thread no two
  // copies may be under way to the same place.
  b.waitForCopies(0);
  Num next = step + Num(1);
  b.ifThen(b.less(next, steps), [&] { startCopies(next); });
  b.commitCopies();
  enterStep(step);
  for (auto [index, result] : llvm::enumerate(k.stream.getResults()))
    if (folds.isOuter(index))
      k.set(k.stream.getYielded(index), Registers(k.registersOf(spacesOf(result)), b.number(0.0)));
  folds.emitStep(k);
  takeTurns(k, std::exchange(k.turns, {}));
}

SmallVector<Value> StreamStage::emitStepOrSkip(const Num &step, ValueRange carried) {
  SmallVector<Type> types(carried.getTypes());
  Value isActive = b.compare(arith::CmpIPredicate::ne, b.fromValue(carried.back()), 0);
  ValueRange before = carried.drop_back();
  return b.ifElse(
      isActive, types,
      [&] {
        SmallVector<Value> next = emitStep(step, before);
        const unsigned stop = *k.stream.getStopCarry();
        Value goesOn = isAnyAtLeast(k.registers(k.stream.getYielded(stop)),
                                    k.stream.getStopBelow()->convertToDouble());
        next.push_back(b.create<arith::ExtUIOp>(b.i32(), goesOn));
        return next;
      },
      [&] {
        // What is kept of every block is zero in those that are skipped.
        enterStep(step);
        for (auto store : k.stream.getBody().front().getOps<StoreOp>()) {
          const SpaceSet &s = spacesOf(store.getValue());
          k.set(store.getValue(), Registers(k.registersOf(s), b.number(0.0)));
          emitStore(k, store);
        }
        return SmallVector<Value>(carried);
      });
}

//===- The kernel -----------------------------------------------------------------===//

void StreamStage::run() {
  decodeItem();
  findRange();
  loadOwners();
  declareInner();
  sums.declare(k);
  b.ifThen(b.less(Num(0), steps), [&] { startCopies(0); });
  b.commitCopies();
  if (k.rowsOwn)
    loadRowBounds(k);

  Registers inits;
  for (auto [index, result] : llvm::enumerate(k.stream.getResults())) {
    if (folds.isOuter(index))
      continue;
    if (index < k.stream.getCarries().size())
      llvm::append_range(inits, k.registers(k.stream.getCarries()[index]));
    else
      inits.append(k.registersOf(spacesOf(result)), b.number(0.0));
  }
  const bool mayStop =
      k.stream.getStopCarry().has_value() && k.rowsOwn && folds.getBuffers().empty();
  const bool maySkip = k.stream.getSkipBuffer() && k.rowsOwn && sums.isEmpty();
  if (mayStop || maySkip)
    stopSlots = k.allocate(k.schedule.warps * 4);
  if (mayStop)
    inits.push_back(b.integer(1));
  SmallVector<Value> results = b.loop(0, steps, 1, inits, [&](Num step, ValueRange carried) {
    return mayStop   ? emitStepOrSkip(step, carried)
           : maySkip ? emitStepUnlessSmall(step, carried)
                     : emitStep(step, carried);
  });
  ArrayRef<Value> rest = results;
  for (auto [index, result] : llvm::enumerate(k.stream.getResults())) {
    if (folds.isOuter(index))
      continue;
    const int64_t count = k.registersOf(spacesOf(result));
    k.set(result, Registers(rest.take_front(count)));
    rest = rest.drop_front(count);
  }
  for (Operation *op : folds.ownerEpilogue())
    emitOp(k, op);
  k.fn.finish(k.stage, items(), k.sharedBytes());
}

} // namespace

void mlir::tile::gpu::lowerStreamStage(StageOp stage, const GpuSchedule &schedule) {
  KernelBuilder b(stage.getLoc(), stage.getContext());
  OuterFolds folds(stage, schedule);
  SmallVector<Value> buffers = collectBuffers(stage);
  PairSums sums(stage, schedule);
  llvm::append_range(buffers, folds.getBuffers());
  llvm::append_range(buffers, sums.getBuffers());
  Value itemCounter;
  if (folds.hasTurns() || sums.hasTurns()) {
    Type i32 = IntegerType::get(stage.getContext(), 32);
    itemCounter = addTemporary(stage, "_items", {"1"}, i32, /*zero=*/true);
    buffers.push_back(itemCounter);
  }
  KernelFunction fn(stage, "", buffers, schedule.threads(), b);
  StreamStage(stage, schedule, fn, folds, sums, itemCounter).run();
}
