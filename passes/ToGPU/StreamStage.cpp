//===- StreamStage.cpp - the loop over inner blocks -----------------------===//
#include "passes/ToGPU/StreamStage.h"

#include "passes/ToGPU/ToGPU.h"
#include "passes/ToLoops/StageFunction.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

using ::pe::math::Action;

std::string StreamStage::items() {
  return std::string("b*") + (k.rowsOwn ? "hq*ceildiv(r," : "hkv*ceildiv(c,") +
         std::to_string(k.schedule.ownerBlock()) + ")";
}

void StreamStage::findRange() {
  Interval<Num> visited = k.innerBlocksOf(k.item.ownerBlock);
  firstInner = visited.begin, innerCount = visited.end - visited.begin;
  count = k.rowsOwn ? innerCount : innerCount * k.item.group;
}

void StreamStage::loadOwners() {
  bool any = false;
  auto load = [&](Operation &op) {
    auto loadOp = dyn_cast<LoadOp>(op);
    if (!loadOp)
      return;
    const SpaceSet &s = spacesOf(loadOp.getValue());
    if (!hasDepth(s) || k.isInnerSide(s))
      return;
    Panel panel = k.shared.makePanel(k.schedule.ownerBlock(), k.depthOf(s),
                                     elementOf(loadOp.getValue()), /*copies=*/1);
    const LocationScope location(b, loadOp.getLoc());
    copyPanel(k, panel, loadOp, around.place(), k.item.ownerBase);
    around.setPanel(loadOp.getValue(), panel);
    any = true;
  };
  for (Operation &op : k.getStage().getBody().front()) {
    if (isa<StreamOp>(op))
      break;
    load(op);
  }
  for (Operation &op : stream.getBody().front())
    load(op);
  // The first step waits for all copies; code that reads one before that waits itself (mapPanel).
  if (any)
    b.commitCopies();
}

/// Allocates inner panels, and collects the ops that must be repeated for each block.
void StreamStage::declareInner() {
  auto declare = [&](Value panel) {
    const SpaceSet &s = spacesOf(panel);
    innerPanels[panel] = k.shared.makePanel(
        k.schedule.innerBlock, isPair(s) ? k.schedule.ownerBlock() : k.depthOf(s), elementOf(panel),
        steps.program.rings[ringOf(panel)].slots);
  };
  auto slotsOf = [&](Value value) { return steps.program.rings[ringOf(value)].slots; };
  const int64_t entries = placeInVector(k, k.schedule.innerBlock).getConstant();
  auto place = [&](Operation &op, bool inStream) {
    auto load = dyn_cast<LoadOp>(op);
    const bool isPanel = load && hasDepth(spacesOf(load.getValue()));
    if ((isPanel && k.isInnerSide(spacesOf(load.getValue()))) ||
        (load && isPair(spacesOf(load.getValue()))))
      return declare(load.getValue());
    if (isPanel)
      return;
    if (auto map = dyn_cast<MapOp>(op); map && isRoundingInPlace(map)) {
      if (k.isInnerSide(spacesOf(map.getResult(0))))
        innerRoundings.push_back(map);
      else
        emitOp(around, map);
      return;
    }
    // A value of the head changes with the step if columns own.
    auto changes = [&](const SpaceSet &s) {
      return k.isInnerSide(s) || (!k.rowsOwn && s.isEmpty());
    };
    if (&op == mapOfCondition(stream).getOperation())
      return;
    if (load && isCopiedVector(load))
      lines[load] = k.shared.makeWindow(entries, slotsOf(load.getValue()));
    const bool isInner = op.getNumResults() && changes(spacesOf(op.getResult(0)));
    if (inStream || isInner)
      perStep.push_back(&op);
    else
      emitOp(around, &op);
  };
  for (Operation &op : k.getStage().getBody().front()) {
    if (isa<StreamOp>(op))
      break;
    place(op, /*inStream=*/false);
  }
  for (Operation &op : stream.getBody().front().without_terminator())
    place(op, /*inStream=*/true);
  windows = makeWindows(k, slotsOf);
  segments = makeSegmentTables(k, slotsOf);
  vectors = makeVectorPanels(k, slotsOf);
  makePairPanels(around);
}

//===- One step -----------------------------------------------------------------===//

StreamStage::BlockAt StreamStage::find(const Num &n) const {
  if (k.rowsOwn)
    return {n, 0, n};
  const Num ahead = n - current.n;
  assert(ahead.isConstant() && ahead.getConstant() >= 0 && "a block of the trip or a later one");
  BlockAt place = current;
  for (; ahead.getConstant() != (place.n - current.n).getConstant(); place.n = place.n + Num(1)) {
    const Num next = place.within + Num(1);
    Value isNewHead = b.compare(arith::CmpIPredicate::eq, next, innerCount);
    place.head = b.pick(isNewHead, place.head + Num(1), place.head);
    place.within = b.pick(isNewHead, 0, next);
  }
  return place;
}

StepPlace StreamStage::placeOf(const Num &n) {
  StepPlace place;
  const auto [at, head, within] = find(n);
  place.queryHead = k.rowsOwn ? *k.item.queryHead : k.item.keyHead * k.item.group + head;
  place.block =
      k.order.innersDescend ? firstInner + innerCount - Num(1) - within : firstInner + within;
  place.base = place.block * Num(k.schedule.innerBlock);
  return place;
}

SegmentTables StreamStage::segmentsAt(const SegmentTables &tables, const Num &n) const {
  return tables.at(tables.copies == 1 ? Num(0) : find(n).head % Num(tables.copies),
                   k.rowsOwn ? Num(0) : slotOf(ringOf(tables.u), n));
}

void StreamStage::startCopies(int ring, const Num &n) {
  Step step(around, placeOf(n));
  const Num slot = slotOf(ring, n);
  for (auto &[value, panel] : innerPanels) {
    if (ringOf(value) != ring)
      continue;
    const LocationScope location(b, value.getLoc());
    copyPanel(k, panel.at(slot), value.getDefiningOp<LoadOp>(), step.place(), step.at.base);
  }
  for (auto &[load, vector] : lines) {
    if (ringOf(load.getValue()) != ring)
      continue;
    const LocationScope location(b, load.getLoc());
    copyVector(k, load, vector.at(slot), step.place(), step.at.base);
  }
  for (auto &[table, window] : windows) {
    if (ringOf(table) != ring)
      continue;
    const LocationScope location(b, table.getLoc());
    copyWindow(k, table, window.at(slot), step.place(), step.at.base);
  }
  for (auto &[coefficients, tables] : segments) {
    if (ringOf(tables.u) != ring)
      continue;
    const LocationScope location(b, coefficients.getLoc());
    const SegmentTables copied = segmentsAt(tables, n);
    b.ifThen(b.compare(arith::CmpIPredicate::eq, find(n).within, 0), [&] {
      copySegmentTables(step, copied);
      if (k.rowsOwn)
        copySegmentRows(step, copied);
    });
    if (!k.rowsOwn)
      copySegmentRows(step, copied);
  }
  for (auto &[table, panel] : vectors) {
    if (ringOf(table) != ring)
      continue;
    const LocationScope location(b, table.getLoc());
    copyVectors(k, table, panel.at(slot), step.place(), step.at.base);
  }
}

/// Returns true (an i1) if every pair of the warp (of the lane, if rows have bounds) and the block
/// exists and is inside the mask.
Value StreamStage::isFullBlock(const StepPlace &at, const RowBounds &bounds) {
  Num owner = k.item.ownerBase + k.warp * Num(k.layout.ownerTiles * 16);
  Num ownerEnd = owner + Num(k.layout.ownerTiles * 16);
  Num inner = at.base, innerEnd = at.base + Num(k.schedule.innerBlock);
  Num row = k.rowsOwn ? owner : inner, rowEnd = k.rowsOwn ? ownerEnd : innerEnd;
  Num column = k.rowsOwn ? inner : owner, columnEnd = k.rowsOwn ? innerEnd : ownerEnd;
  auto atMost = [&](const Num &x, const Num &y) {
    return b.compare(arith::CmpIPredicate::sle, x, y);
  };
  Value isFull = b.both(atMost(rowEnd, k.rows), atMost(k.mask.rows.begin, row));
  // The last row must keep the first column, and the first row the last column.
  if (k.mask.lower)
    isFull = b.both(isFull, atMost(rowEnd - Num(1) + *k.mask.lower, column));
  Num end = k.mask.upper ? minOf(k.columns, row + *k.mask.upper) : k.columns;
  isFull = b.both(isFull, atMost(columnEnd, end));
  return bounds.low.empty() ? isFull : b.both(isFull, areBoundsFull(b, bounds, column, columnEnd));
}

//===- Actions --------------------------------------------------------------------===//

/// Starts to copy block n, if it exists, into the ring.
void StreamStage::fill(int ring, const Num &n) {
  b.ifThen(b.less(n, count), [&] { startCopies(ring, n); });
  b.commitCopies();
}

/// Waits for the blocks of joined takes, and is a barrier.
void StreamStage::take(ArrayRef<Action> takes, const Trip &trip) {
  b.waitForCopies(takes.back().inFlight);
  if (readsNothing(trip))
    return;
  for (MapOp map : innerRoundings) {
    Value source = map.getInputs()[0];
    const auto *found =
        llvm::find_if(takes, [&](const Action &take) { return take.subject == ringOf(source); });
    if (found == takes.end())
      continue;
    const LocationScope location(b, map.getLoc());
    const Num n = trip.n + Num(found->ahead);
    const Panel panel = innerPanels.find(source)->second.at(slotOf(found->subject, n));
    if (found->ahead == 0)
      mapChunks(k, map, panel, panel);
    else
      b.ifThen(b.less(n, count), [&] { mapChunks(k, map, panel, panel); });
  }
  b.barrier();
}

SmallVector<Type> StreamStage::passedTypes() {
  SmallVector<Type> types;
  for (Value value : steps.passed)
    types.append(k.registersOf(spacesOf(value)), b.f32());
  return types;
}

Registers StreamStage::runAhead(int phase, const Num &n) {
  const SmallVector<Type> types = passedTypes();
  return b.ifElse(
      b.less(n, count), types,
      [&] {
        Step step(around, placeOf(n));
        setPanels(step, n);
        for (Operation *op : perStep)
          if (auto found = steps.phases.find(op);
              found != steps.phases.end() && found->second == phase)
            emitOp(step, op);
        Registers passed;
        for (Value value : steps.passed)
          llvm::append_range(passed, step.registers(value));
        return passed;
      },
      [&] { return Registers(types.size(), b.number(0.0)); });
}

/// Runs a phase of the trip's block, or of a later one. Ops before the stream, once per step, run
/// first.
void StreamStage::runPhase(int phase, Trip &trip) {
  if (const int ahead = steps.aheadOf(phase); ahead > 0) {
    trip.passed = runAhead(phase, trip.n + Num(ahead));
    return;
  }
  const bool isFirst = !trip.step;
  if (isFirst) {
    trip.step.emplace(around, placeOf(trip.n));
    beginStep(*trip.step, trip.n);
    trip.carriedSums = setCarried(*trip.step, trip.carried);
  }
  for (Operation *op : perStep) {
    auto found = steps.phases.find(op);
    if (found == steps.phases.end() ? isFirst : found->second == phase)
      emitOp(*trip.step, op);
  }
}

void StreamStage::walk(ArrayRef<Action> actions, Trip &trip) {
  SmallVector<Action> takes;
  for (const Action &action : actions) {
    const Num n = trip.n + Num(action.ahead);
    const bool exists = !n.isConstant() || n.getConstant() >= 0;
    if (action.kind == Action::Take) {
      takes.push_back(action);
      if (!action.isJoined)
        take(std::exchange(takes, {}), trip);
    } else if (action.kind == Action::Sync && !readsNothing(trip)) {
      b.barrier();
    } else if (action.kind == Action::Fill && exists) {
      fill(action.subject, n);
    } else if (action.kind == Action::Run && exists && !(trip.isLeftOut && action.ahead == 0)) {
      runPhase(action.subject, trip);
    }
  }
}

void StreamStage::findEnds(StepFacts &facts, const Num &n) {
  const Num within = find(n).within;
  facts.isFirst = b.compare(arith::CmpIPredicate::eq, within, 0);
  facts.isLast = b.compare(arith::CmpIPredicate::eq, within + Num(1), innerCount);
}

void StreamStage::setPanels(Step &step, const Num &n) {
  for (auto &[value, panel] : innerPanels)
    step.setPanel(value, panel.at(slotOf(ringOf(value), n)));
  for (MapOp map : innerRoundings)
    step.setPanel(map.getResult(0), step.panelOf(map.getInputs()[0]));
  for (auto &[load, vector] : lines)
    step.setWindow(load.getValue(), vector.at(slotOf(ringOf(load.getValue()), n)));
  for (auto &[table, window] : windows)
    step.setWindow(table, window.at(slotOf(ringOf(table), n)));
  for (auto &[coefficients, tables] : segments)
    step.setSegments(segmentsAt(tables, n));
  for (auto &[table, panel] : vectors)
    step.setPanel(table, panel.at(slotOf(ringOf(table), n)));
}

void StreamStage::beginStep(Step &step, const Num &n) {
  setPanels(step, n);
  StepFacts facts;
  facts.bounds = k.rowsOwn ? ownBounds : loadRowBounds(step);
  facts.isFull = isFullBlock(step.at, facts.bounds);
  if (hasStates)
    facts.isFull =
        b.both(facts.isFull, b.compare(arith::CmpIPredicate::eq, statesOf(step.at).least, 2));
  else if (stream.getCondition())
    facts.isFull = b.create<arith::ConstantOp>(b.getBoolAttr(false));
  findEnds(facts, n);
  step.begin(std::move(facts));
  k.sums.beginStep(step);
}

/// Sets carries, and folds of this CTA, to their registers. Returns the registers by result of the
/// stream, without those of outer folds. Sums by distance and values passed from the trip before
/// follow in `carried`.
SmallVector<Registers> StreamStage::setCarried(Step &step, ValueRange carried) {
  Block &body = stream.getBody().front();
  SmallVector<Registers> carriedSums;
  for (auto [index, result] : llvm::enumerate(stream.getResults())) {
    const SpaceSet &s = spacesOf(result);
    Registers registers;
    if (!folds.isOuter(index)) {
      registers.assign(carried.begin(), carried.begin() + k.registersOf(s));
      carried = carried.drop_front(k.registersOf(s));
    }
    if (index < stream.getCarries().size())
      step.set(body.getArgument(index), registers);
    else if (auto dot = stream.getYielded(index).getDefiningOp<DotOp>();
             dot && !dot.getInit() && !registers.empty())
      step.setFold(dot.getOutput(), registers); // the dot adds to the fold
    carriedSums.push_back(std::move(registers));
  }
  vectorSums.beginStep(step, carried);
  for (Value value : steps.passed) {
    step.set(value, Registers(carried.take_front(k.registersOf(spacesOf(value)))));
    carried = carried.drop_front(k.registersOf(spacesOf(value)));
  }
  return carriedSums;
}

SmallVector<Value> StreamStage::emitStep(const Num &n, ValueRange carried, size_t taken) {
  Trip trip{n, carried};
  walk(ArrayRef(role.trip).drop_front(taken), trip);
  Step &step = *trip.step;
  SmallVector<Value> yielded;
  for (auto [index, result] : llvm::enumerate(stream.getResults())) {
    if (folds.isOuter(index))
      continue;
    Value value = stream.getYielded(index);
    const bool isSummed = index < stream.getCarries().size() || step.foldOf(value);
    for (auto [sum, x] : llvm::zip(trip.carriedSums[index], step.registers(value)))
      yielded.push_back(isSummed ? x : b.add(sum, x));
  }
  vectorSums.endStep(step, yielded);
  llvm::append_range(yielded, trip.passed);
  folds.emitStep(step);
  step.finish();
  k.sums.endStep(step);
  if (mayStop) {
    Value holdsMass = isAnyAtLeast(step, step.registers(stream.getYielded(*stream.getStopCarry())),
                                   stream.getStopBelow()->convertToDouble());
    yielded.push_back(b.create<arith::ExtUIOp>(b.i32(), holdsMass));
  }
  return yielded;
}

//===- The kernel -----------------------------------------------------------------===//

Registers StreamStage::startValues(ArrayRef<Value> passed) {
  Registers values;
  for (auto [index, result] : llvm::enumerate(stream.getResults())) {
    if (folds.isOuter(index))
      continue;
    if (laneSums.isDivided(index))
      llvm::append_range(values, laneSums.divide(k, around.registers(stream.getCarries()[index])));
    else if (index < stream.getCarries().size())
      llvm::append_range(values, around.registers(stream.getCarries()[index]));
    else
      values.append(k.registersOf(spacesOf(result)), b.number(0.0));
  }
  llvm::append_range(values, vectorSums.startValues(k));
  llvm::append_range(values, passed);
  if (mayStop)
    values.push_back(b.integer(1));
  return values;
}

void StreamStage::setResults(ArrayRef<Value> results) {
  for (auto [index, result] : llvm::enumerate(stream.getResults())) {
    if (folds.isOuter(index))
      continue;
    Registers registers(results.take_front(k.registersOf(spacesOf(result))));
    results = results.drop_front(registers.size());
    if (laneSums.isDivided(index))
      reduceAcrossLanes(k, spacesOf(result), Reduction::Add, registers);
    around.set(result, std::move(registers));
  }
}

/// Emits the loop over the blocks of all query heads. It carries the place of the block, because a
/// division in every trip would cost as much as many products.
SmallVector<Value> StreamStage::loopOverBlocks(Registers starts, LoopBody body) {
  const size_t own = starts.size();
  if (!k.rowsOwn)
    starts.append(2, b.integer(0));
  SmallVector<Value> results =
      b.loop(0, count, 1, starts, [&](Num n, ValueRange carried) -> SmallVector<Value> {
        if (k.rowsOwn)
          return body(n, carried);
        current = {n, b.fromValue(carried[own]), b.fromValue(carried[own + 1])};
        SmallVector<Value> yielded = body(n, carried.take_front(own));
        const BlockAt next = find(n + Num(1));
        yielded.append({b.toValue(next.head), b.toValue(next.within)});
        return yielded;
      });
  results.truncate(own);
  return results;
}

void StreamStage::run() {
  findRange();
  loadOwners();
  declareInner();
  k.sums.declare(k);
  for (const Action &action : role.before)
    fill(action.subject, action.ahead);
  for (StoreOp store : stream.getBody().front().getOps<StoreOp>())
    if (isPair(spacesOf(store.getValue())))
      clearPairs(store.getBuffer());
  if (k.rowsOwn)
    ownBounds = loadRowBounds(around);
  Trip first{role.first, {}};
  if (role.first < 0)
    walk(role.trip, first);
  setResults(loopOverBlocks(startValues(first.passed), [&](Num n, ValueRange carried) {
    return hasStates ? emitStepUnlessEmpty(n, carried) : emitStepAtAll(n, carried);
  }));
  // Copies are in flight if the loop has stopped early or has had no step. None may be when the
  // thread ends.
  b.waitForCopies(0);
  for (Operation *op : folds.ownerEpilogue())
    emitOp(around, op);
  k.fn.finish(k.getStage(), items(), k.shared.bytes());
}

void mlir::tile::gpu::lowerStreamStage(StageOp stage, const GpuSchedule &schedule,
                                       const StageProgram &steps) {
  KernelBuilder b(stage.getLoc(), stage.getContext());
  OuterFolds folds(stage, schedule);
  SmallVector<Value> buffers = collectBuffers(stage);
  PairSums sums(stage, schedule);
  llvm::append_range(buffers, folds.getBuffers());
  llvm::append_range(buffers, sums.getTickets());
  DistanceSums vectorSums(stage, schedule);
  llvm::append_range(buffers, vectorSums.getBuffers());
  Value itemCounter;
  if (folds.hasTurns() || sums.hasTurns() || !vectorSums.isEmpty()) {
    Type i32 = IntegerType::get(stage.getContext(), 32);
    itemCounter = addTemporary(stage, "_items", {"1"}, i32, /*zero=*/true);
    buffers.push_back(itemCounter);
  }
  KernelFunction fn(stage, "", buffers, schedule.threads(), b);
  StreamStage(stage, schedule, steps, fn, folds, sums, vectorSums, itemCounter).run();
}
