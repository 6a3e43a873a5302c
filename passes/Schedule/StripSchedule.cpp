//===- StripSchedule.cpp - steps, order and slots of a stream's body ------===//
#include "passes/Schedule/StripSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

bool isPairValue(Value value) {
  auto type = dyn_cast<ValType>(value.getType());
  return type && isPair(type.getSpaces());
}
/// Returns true for a contraction over depth, whose result is over rc.
bool isDepthDot(Operation *op) {
  auto dot = dyn_cast<DotOp>(op);
  return isa<WindowDotOp>(op) || (dot && isDepth(dot.getAxis()));
}
/// Returns true for a contraction over c, whose result is a row panel.
bool isRowDot(Operation *op) {
  auto dot = dyn_cast<DotOp>(op);
  return isa<WindowSumOp>(op) || (dot && dot.getAxis() == "c");
}
bool isColumnDot(Operation *op) {
  auto dot = dyn_cast<DotOp>(op);
  return dot && dot.getAxis() == "r";
}
bool isBlockOp(Operation *op) {
  return isa<WindowGradOp, WindowOuterOp, SegmentsGradOp, NearGradOp>(op);
}
/// Returns true if the op reads the entire block of its operand from memory.
bool readsBlock(Operation *op) { return isBlockOp(op) || isRowDot(op) || isColumnDot(op); }
/// Returns true if the op writes the entire block of its result to memory.
bool isFill(Operation *op) { return isa<SegmentsOp, RandomOp, NearOp>(op); }
/// Returns true if the op is elementwise over rc, so that it can wait for a later step.
bool canWait(Operation *op) {
  return isa<MapOp, MaskOp, WindowOp>(op) && op->getNumResults() && isPairValue(op->getResult(0));
}

/// Builds one StripSchedule; see the header for the rules.
class Scheduler {
public:
  Scheduler(StreamOp stream, std::string &why) : stream(stream), why(why) {}

  FailureOr<StripSchedule> run() {
    Block &body = stream.getBody().front();
    result.condition = stream.getCondition();
    for (Operation &op : body.without_terminator())
      if (failed(place(&op)))
        return failure();
    if (failed(checkYield()))
      return failure();
    delay(body);
    distribute(body);
    for (StripSchedule::Step &step : result.steps)
      if (step.tiles)
        orderTiles(step);
    assignSlots();
    return std::move(result);
  }

private:
  LogicalResult fail(const Twine &reason) {
    why = reason.str();
    return failure();
  }

  /// Returns the first step in which `value` exists.
  unsigned readyAt(Value value) { return ready.lookup(value); }
  unsigned readyAt(ValueRange values) {
    unsigned step = 0;
    for (Value value : values)
      if (isa<ValType>(value.getType()))
        step = std::max(step, readyAt(value));
    return step;
  }
  StripSchedule::Step &stepAt(unsigned index) {
    if (result.steps.size() <= index)
      result.steps.resize(index + 1);
    return result.steps[index];
  }

  LogicalResult place(Operation *op);
  LogicalResult placeDot(DotOp dot);
  void placeDepthDot(Operation *op, unsigned step);
  void placeScan(ScanOp scan);
  LogicalResult checkYield();
  LogicalResult checkColumnValue(Value value);
  void delay(Block &body);
  void distribute(Block &body);
  void orderTiles(StripSchedule::Step &step);
  /// Fills `time` and `dotsBefore`.
  void orderOps();
  struct Lifetime {
    Value value;
    unsigned begin, end;
  };
  std::optional<Lifetime> lifetimeOf(Operation *op, Value value);
  void assignSlots();

  StreamOp stream;
  std::string &why;
  StripSchedule result;
  llvm::DenseMap<Value, unsigned> ready;
  llvm::DenseMap<Operation *, unsigned> placed;
  /// The time of evaluation of each op (step * kStep + position in the sweep; kEnd after all
  /// steps), and the number of contractions over depth before it in its sweep.
  static constexpr unsigned kStep = 1u << 16, kEnd = ~0u;
  llvm::DenseMap<Operation *, unsigned> time, dotsBefore;
};

//===- Steps -------------------------------------------------------------===//

LogicalResult Scheduler::checkColumnValue(Value value) {
  if (!value.getDefiningOp<LoadOp>())
    return fail("a panel of keys must be loaded, not computed inside the stream");
  return success();
}

LogicalResult Scheduler::placeDot(DotOp dot) {
  unsigned step = readyAt(dot->getOperands());
  if (isDepthDot(dot)) {
    if (failed(checkColumnValue(dot.getRhs())))
      return failure();
    placeDepthDot(dot, step);
    return success();
  }
  if (dot.getAxis() == "c") {
    if (failed(checkColumnValue(dot.getRhs())))
      return failure();
  } else if (dot.getInit() || !dot.getRhs().getDefiningOp<LoadOp>()) {
    return fail("a contraction over r must have no init, and its rows must be loaded");
  }
  placed[dot] = step;
  ready[dot.getOutput()] = step;
  return success();
}

/// Places `op` in the first sweep of tiles from `step` on.
void Scheduler::placeDepthDot(Operation *op, unsigned step) {
  while (stepAt(step).order != Order::Any)
    ++step;
  stepAt(step).tiles = true;
  placed[op] = step;
  ready[op->getResult(0)] = step;
}

void Scheduler::placeScan(ScanOp scan) {
  unsigned step = readyAt(scan->getOperands());
  auto fits = [&](StripSchedule::Step &s) {
    return !s.tiles && (s.order == Order::Any || s.order == scan.getOrder());
  };
  while (!fits(stepAt(step)))
    ++step;
  stepAt(step).order = scan.getOrder();
  placed[scan] = step;
  ready[scan.getResult()] = step;
  ready[scan.getCarryOut()] = step + 1;
}

LogicalResult Scheduler::place(Operation *op) {
  if (auto dot = dyn_cast<DotOp>(op))
    return placeDot(dot);
  if (isa<WindowDotOp>(op)) {
    placeDepthDot(op, readyAt(op->getOperands()));
    return success();
  }
  if (auto scan = dyn_cast<ScanOp>(op)) {
    placeScan(scan);
    return success();
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (!isPairValue(reduce.getInput()))
      return fail("a reduction over depth must be outside the stream");
    placed[op] = readyAt(reduce.getInput());
    ready[reduce.getOutput()] = placed[op] + 1;
    return success();
  }
  if (auto outer = dyn_cast<WindowOuterOp>(op); outer && !outer.getRows().getDefiningOp<LoadOp>())
    return fail("the rows of tile.window_outer must be loaded");
  if (!isa<MapOp, MaskOp, WindowOp, WindowSumOp, SegmentsOp, NearOp, RandomOp, WindowGradOp,
           WindowOuterOp, SegmentsGradOp, NearGradOp, LoadOp, StoreOp, ConstantOp, PositionOp,
           IndexOp>(op))
    return fail(Twine("'") + op->getName().getStringRef() + "' has no CPU form inside a stream");
  if (isa<MapOp>(op) && !op->getNumResults() && llvm::none_of(op->getOperands(), isPairValue))
    return fail("a map without results must read a value over rc");
  placed[op] = readyAt(op->getOperands());
  for (Value value : op->getResults()) {
    const SpaceSet &spaces = spacesOf(value);
    if (isColumnPanel(spaces) && !isa<LoadOp>(op))
      return checkColumnValue(value);
    ready[value] = placed[op];
  }
  return success();
}

LogicalResult Scheduler::checkYield() {
  for (unsigned i = 0, e = stream.getNumResults(); i < e; ++i) {
    Value value = stream.getYielded(i);
    Operation *op = value.getDefiningOp();
    auto dot = dyn_cast_if_present<DotOp>(op);
    bool fold = i >= stream.getCarries().size();
    const SpaceSet &spaces = spacesOf(value);
    if (isRowPanel(spaces) && (!op || !isRowDot(op) || (fold && dot && dot.getInit())))
      return fail("a yielded panel of rows must be the result of a contraction over c");
    if (isColumnPanel(spaces) && (!op || !isColumnDot(op)))
      return fail("a yielded panel of keys must be the result of a contraction over r");
    if (isColumn(spaces) && !value.getDefiningOp<ReduceOp>())
      return fail("a yielded value over c must be the result of a reduction over r");
    if (spaces.isEmpty())
      return fail("a fold to one value per head has no CPU form");
  }
  return success();
}

/// Delays elementwise ops and fills until the first step that uses them.
void Scheduler::delay(Block &body) {
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!canWait(&op) && !isFill(&op))
      continue;
    unsigned step = ~0u;
    for (Operation *user : op.getUsers())
      step = std::min(step, readsBlock(user) ? ready.lookup(op.getResult(0)) : placed.lookup(user));
    if (step != ~0u)
      placed[&op] = std::max(placed[&op], step);
  }
}

void Scheduler::distribute(Block &body) {
  for (Operation &op : body.without_terminator()) {
    StripSchedule::Step &step = stepAt(placed[&op]);
    if (isRowDot(&op))
      step.rowDots.push_back(&op);
    else if (isColumnDot(&op))
      result.columnDots.push_back(cast<DotOp>(op));
    else if (isBlockOp(&op))
      step.blockOps.push_back(&op);
    else if (isFill(&op))
      step.fills.push_back(&op);
    else if (!isa<ConstantOp>(op) && (llvm::any_of(op.getOperands(), isPairValue) ||
                                      llvm::any_of(op.getResults(), isPairValue)))
      step.sweep.push_back(&op);
    else
      step.rowOps.push_back(&op);
  }
}

//===- Order inside a sweep of tiles -------------------------------------------===//

/// Orders a sweep of tiles. After each contraction all ready ops are evaluated, which frees the
/// accumulators for the next one; ops that only feed the init of a later contraction wait for it.
void Scheduler::orderTiles(StripSchedule::Step &step) {
  llvm::DenseSet<Operation *> inSweep(step.sweep.begin(), step.sweep.end()), done;
  SmallVector<Operation *> order;
  auto feedsOnlyDots = [&](Operation *op, auto &&self) -> bool {
    return op->getNumResults() && !isDepthDot(op) &&
           llvm::all_of(op->getUsers(), [&](Operation *user) {
             return inSweep.contains(user) && !done.contains(user) &&
                    (isDepthDot(user) || self(user, self));
           });
  };
  auto isReady = [&](Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return !def || !inSweep.contains(def) || done.contains(def);
    });
  };
  auto emit = [&](Operation *op) {
    done.insert(op);
    order.push_back(op);
  };
  auto emitWithOperands = [&](Operation *op, auto &&self) -> void {
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && inSweep.contains(def) && !done.contains(def))
        self(def, self);
    emit(op);
  };
  auto emitReady = [&](bool all) {
    for (Operation *op : step.sweep)
      if (!done.contains(op) && !isDepthDot(op) && isReady(op) &&
          (all || !feedsOnlyDots(op, feedsOnlyDots)))
        emit(op);
  };
  for (Operation *op : step.sweep)
    if (isDepthDot(op) && !done.contains(op)) {
      emitWithOperands(op, emitWithOperands);
      emitReady(/*all=*/false);
    }
  emitReady(/*all=*/true);
  step.sweep = order;
}

//===- Slots -------------------------------------------------------------------===//

void Scheduler::orderOps() {
  for (auto [s, step] : llvm::enumerate(result.steps)) {
    unsigned dots = 0;
    for (Operation *op : step.fills)
      time[op] = s * kStep;
    for (auto [position, op] : llvm::enumerate(step.sweep)) {
      time[op] = s * kStep + 1 + position;
      dotsBefore[op] = dots;
      dots += isDepthDot(op);
    }
    for (Operation *op : step.blockOps)
      time[op] = (s + 1) * kStep - 1;
    for (Operation *dot : step.rowDots)
      time[dot] = (s + 1) * kStep - 1;
  }
  for (DotOp dot : result.columnDots)
    time[dot] = kEnd;
}

/// Returns the interval in which a result of `op` must be in memory, or std::nullopt if it need not
/// be.
std::optional<Scheduler::Lifetime> Scheduler::lifetimeOf(Operation *op, Value value) {
  unsigned begin = time[op], end = begin;
  bool needed = isFill(op) || value == result.condition, readByOthers = needed;
  for (Operation *user : value.getUsers()) {
    unsigned use = time[user];
    bool inOtherStep = use / kStep != begin / kStep || use == kEnd;
    bool fromMemory = readsBlock(user);
    bool afterDot =
        !inOtherStep && !fromMemory && dotsBefore[user] > dotsBefore[op] + isDepthDot(op);
    needed |= inOtherStep || fromMemory || afterDot;
    readByOthers |= afterDot || (inOtherStep && !fromMemory) || (fromMemory && !isa<DotOp>(user));
    end = std::max(end, use);
    if (fromMemory)
      result.zeroOutside.insert(value);
  }
  if (value == result.condition)
    end = kEnd;
  if (readByOthers)
    result.readByOthers.insert(value);
  return needed ? std::optional(Lifetime{value, begin, end}) : std::nullopt;
}

/// Assigns one slot to every value that must be in memory. A slot is free again at the last use of
/// its value, and the op of that use may already store its result there.
void Scheduler::assignSlots() {
  orderOps();
  SmallVector<Lifetime> lifetimes;
  auto consider = [&](Operation *op) {
    for (Value value : op->getResults())
      if (isPairValue(value))
        if (std::optional<Lifetime> life = lifetimeOf(op, value))
          lifetimes.push_back(*life);
  };
  for (StripSchedule::Step &step : result.steps) {
    llvm::for_each(step.fills, consider);
    llvm::for_each(step.sweep, consider);
  }
  llvm::sort(lifetimes, [](auto &a, auto &b) { return a.begin < b.begin; });
  SmallVector<unsigned> freeFrom;
  for (Lifetime &life : lifetimes) {
    auto *slot = llvm::find_if(freeFrom, [&](unsigned end) { return end <= life.begin; });
    if (slot == freeFrom.end())
      slot = &freeFrom.emplace_back();
    *slot = life.end;
    result.slots[life.value] = slot - freeFrom.begin();
  }
  result.numSlots = freeFrom.size();
}

} // namespace

FailureOr<StripSchedule> StripSchedule::compute(StreamOp stream, std::string &why) {
  return Scheduler(stream, why).run();
}
