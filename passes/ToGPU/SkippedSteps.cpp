//===- SkippedSteps.cpp - steps of a stream that may be skipped -----------===//
//
// A step is skipped if every row has stopped, if the snapshot of its block is negligible, or if the
// code of the mask drops all of its pairs. Its turns at sums of other CTAs are taken all the same.
//
//===----------------------------------------------------------------------===//
#include "passes/ToGPU/StreamStage.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

using ::pe::math::Action;

//===- Stopping early ---------------------------------------------------------------===//

/// Returns true (an i1) if a row of the lane has a value that is NaN or at least `bound`.
Value StreamStage::isAnyAtLeast(const Step &step, const Registers &values, double bound) {
  Value any = b.create<arith::ConstantOp>(b.getBoolAttr(false));
  for (auto [index, value] : llvm::enumerate(values)) {
    Num row = step.rowAt(k.elementAt({"r"}, index));
    Value exists =
        b.both(b.less(row, k.rows), b.compare(arith::CmpIPredicate::sge, row, k.mask.rows.begin));
    Value isLarge = b.compare(arith::CmpFPredicate::UGE, value, b.number(bound));
    any = b.create<arith::OrIOp>(any, b.both(exists, isLarge));
  }
  return any;
}

/// Returns whether the condition holds in a thread of the CTA, and the number of the trip's actions
/// that have been emitted: if the trip begins with a barrier, it is the vote.
std::pair<Value, size_t> StreamStage::vote(Value condition) {
  const auto first = llvm::find_if(role.trip, [](const Action &action) {
    return action.kind != Action::Take || !action.isJoined;
  });
  const bool takes = first->kind == Action::Take && innerRoundings.empty();
  if (takes)
    b.waitForCopies(first->inFlight);
  const bool isBarrier = takes || first->kind == Action::Sync;
  return {b.barrierAny(condition), isBarrier ? first - role.trip.begin() + 1 : 0};
}

/// The snapshot of the step's block decides whether it is skipped. Its terms for sums of other CTAs
/// are then zero, but its turns are taken.
SmallVector<Value> StreamStage::emitStepUnlessSmall(const Num &n, ValueRange carried) {
  Step step(around, placeOf(n));
  Registers snapshot;
  for (int64_t i = 0, e = k.registersOf({"r"}); i < e; ++i) {
    Place place = step.place();
    place.r = minOf(step.rowAt(k.elementAt({"r"}, i)), k.rows - Num(1));
    snapshot.push_back(b.load(b.f32(), k.fn.address(stream.getSkipBuffer(), place)));
  }
  const auto [matters, taken] =
      vote(isAnyAtLeast(step, snapshot, stream.getSkipBelow()->convertToDouble()));
  return b.ifElse(
      matters, SmallVector<Type>(carried.getTypes()),
      [&, taken = taken] { return emitStep(n, carried, taken); },
      [&, taken = taken] { return leaveOut(n, carried, taken); });
}

SmallVector<Value> StreamStage::leaveOut(const Num &n, ValueRange carried, size_t taken) {
  // All threads have completed the previous step (emitStepUnlessSmall has a barrier). This thread
  // must not have two copies to the same place in flight.
  Trip trip{n, carried, /*isLeftOut=*/true};
  walk(ArrayRef(role.trip).drop_front(taken), trip);
  Step step(around, placeOf(n));
  for (auto [index, result] : llvm::enumerate(stream.getResults()))
    if (folds.isOuter(index))
      step.set(stream.getYielded(index), Registers(k.registersOf(spacesOf(result)), b.number(0.0)));
  StepFacts facts;
  findEnds(facts, n);
  step.begin(std::move(facts));
  SmallVector<Value> yielded;
  for (const Registers &registers : setCarried(step, carried))
    llvm::append_range(yielded, registers);
  storeZeros(n);
  k.sums.leaveOut(step);
  vectorSums.endStep(step, yielded);
  llvm::append_range(yielded, trip.passed);
  folds.emitStep(step);
  step.finish();
  k.sums.endStep(step);
  if (mayStop)
    yielded.push_back(carried.back());
  return yielded;
}

SmallVector<Value> StreamStage::emitStepOrSkip(const Num &n, ValueRange carried) {
  SmallVector<Type> types(carried.getTypes());
  const auto [isActive, taken] =
      vote(b.compare(arith::CmpIPredicate::ne, b.fromValue(carried.back()), 0));
  return b.ifElse(
      isActive, types, [&, taken = taken] { return emitStep(n, carried.drop_back(), taken); },
      [&] {
        storeZeros(n);
        return SmallVector<Value>(carried);
      });
}

/// Stores zeros as the snapshots and pairs of a skipped step's block.
void StreamStage::storeZeros(const Num &n) {
  Step step(around, placeOf(n));
  for (auto store : stream.getBody().front().getOps<StoreOp>()) {
    const SpaceSet &s = spacesOf(store.getValue());
    const auto zero = cast<TypedAttr>(b.getZeroAttr(elementOf(store.getValue())));
    step.set(store.getValue(), Registers(k.registersOf(s), b.create<arith::ConstantOp>(zero)));
    emitStore(step, store);
  }
}

//===- Blocks without pairs ---------------------------------------------------------===//

StreamStage::States StreamStage::statesOf(const StepPlace &at) {
  const Value buffer = k.getStage().getBlockStates();
  const int64_t owners = k.schedule.ownerBlock(), inners = k.schedule.innerBlock;
  const int64_t rowSize = k.rowsOwn ? owners : inners, columnSize = k.rowsOwn ? inners : owners;
  const Num row = k.rowsOwn ? k.item.ownerBase : at.base,
            column = k.rowsOwn ? at.base : k.item.ownerBase;
  const StateBlock block = *k.getStage().getStateBlock();
  std::optional<States> states;
  for (int64_t r = 0; r < countStates(rowSize, block.rows); ++r)
    for (int64_t c = 0; c < countStates(columnSize, block.columns); ++c) {
      SmallVector<Num> indices;
      for (StringAttr extent : cast<BufferType>(buffer.getType()).getExtents().drop_back(2))
        indices.push_back(extent == "b" ? k.item.batch : at.queryHead);
      indices.append({stateOf(row, rowSize, block.rows, r, k.rows),
                      stateOf(column, columnSize, block.columns, c, k.columns)});
      Num state = b.fromValue(b.load(b.i32(), k.fn.address(buffer, ArrayRef<Num>(indices))));
      states = states ? States{minOf(states->least, state), maxOf(states->most, state)}
                      : States{state, state};
    }
  return *states;
}

/// A block is empty for all threads of the CTA. Its turns at sums are taken.
SmallVector<Value> StreamStage::emitStepUnlessEmpty(const Num &n, ValueRange carried) {
  Value isEmpty = b.compare(arith::CmpIPredicate::eq, statesOf(placeOf(n)).most, 0);
  return b.ifElse(
      isEmpty, SmallVector<Type>(carried.getTypes()),
      [&] {
        if (role.first == 0)
          b.barrier(); // all threads have read the copy that is overwritten next
        return leaveOut(n, carried);
      },
      [&] { return emitStepAtAll(n, carried); });
}

SmallVector<Value> StreamStage::emitStepAtAll(const Num &n, ValueRange carried) {
  return mayStop   ? emitStepOrSkip(n, carried)
         : maySkip ? emitStepUnlessSmall(n, carried)
                   : emitStep(n, carried);
}
