//===- StreamStage.h - the loop over inner blocks ---------------*- C++ -*-===//
//
// A CTA loads the panels of its owners once and streams blocks of the inner side through rings in
// shared memory: later blocks are copied while the CTA computes the current one. The step program
// of the stage (passes/Schedule/StepPrograms.h) says in which order; this class emits its actions.
// Blocks outside the mask are never visited. If rows own, a CTA belongs to one query head; if
// columns own, it visits the rows of every query head of its key head in turn.
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_STREAMSTAGE_H
#define PE_PASSES_TOGPU_STREAMSTAGE_H

#include "passes/Schedule/StepPrograms.h"
#include "passes/ToGPU/DistanceSums.h"
#include "passes/ToGPU/Emitters.h"
#include "passes/ToGPU/Folds.h"
#include "passes/ToGPU/LaneSums.h"
#include "passes/ToGPU/Piecewise.h"
#include "passes/ToGPU/Sums.h"

namespace mlir::tile::gpu {

class StreamStage {
public:
  StreamStage(StageOp stage, const GpuSchedule &schedule, const StageProgram &steps,
              KernelFunction &fn, OuterFolds &folds, PairSums &sums, const DistanceSums &vectorSums,
              Value itemCounter)
      : k(stage, schedule, fn, sums, itemCounter), b(k.b), stream(k.getStream()), steps(steps),
        role(steps.program.roles[0]), folds(folds), laneSums(stream), vectorSums(vectorSums),
        around(k), hasStates(k.getStage().getBlockStates()),
        mayStop(stream.getStopCarry() && k.rowsOwn && folds.getBuffers().empty() &&
                vectorSums.isEmpty()),
        maySkip(stream.getSkipBuffer() && k.rowsOwn && sums.isEmpty() && vectorSums.isEmpty()) {}

  void run();

private:
  void findRange();
  void loadOwners();
  void declareInner();
  void clearPairs(Value buffer);
  Registers startValues(ArrayRef<Value> passed);
  void setResults(ArrayRef<Value> results);

  //===- One step: number `n` of the loop ---------------------------------------------===//
  /// The state of emission in one trip of the loop. If its block is left out, it runs no phase of
  /// the block, but those of later blocks.
  struct Trip {
    const Num n;
    ValueRange carried;
    bool isLeftOut = false;
    std::optional<Step> step = {};           // of block n, from its first run on
    SmallVector<Registers> carriedSums = {}; // by result of the stream
    Registers passed = {};                   // of block n + 1
  };
  void walk(ArrayRef<::pe::math::Action> actions, Trip &trip);
  void fill(int ring, const Num &n);
  void take(ArrayRef<::pe::math::Action> takes, const Trip &trip);
  /// Returns true if the trip reads no block that it takes: barriers before it separate it from
  /// other trips.
  bool readsNothing(const Trip &trip) const { return trip.isLeftOut && role.first == 0; }
  void runPhase(int phase, Trip &trip);
  /// Runs a phase of a later block, and returns the registers of the values that it passes on.
  Registers runAhead(int phase, const Num &n);
  SmallVector<Type> passedTypes();
  /// A block of the loop: its query head within the group, and its number among the head's blocks.
  struct BlockAt {
    Num n, head, within;
  };
  /// Returns the place of block n, a constant number of blocks after the current one.
  BlockAt find(const Num &n) const;
  StepPlace placeOf(const Num &n);
  SegmentTables segmentsAt(const SegmentTables &tables, const Num &n) const;
  Num slotOf(int ring, const Num &n) const {
    const int slots = steps.program.rings[ring].slots;
    return slots == 1 ? Num(0) : n % Num(slots);
  }
  int ringOf(Value panel) const { return steps.rings.lookup(panel); }
  void startCopies(int ring, const Num &n);
  void setPanels(Step &step, const Num &n);
  /// Sets whether the step is the first or the last of a head.
  void findEnds(StepFacts &facts, const Num &n);
  void beginStep(Step &step, const Num &n);
  SmallVector<Registers> setCarried(Step &step, ValueRange carried);
  /// Emits a step whose first `taken` actions have been emitted.
  SmallVector<Value> emitStep(const Num &n, ValueRange carried, size_t taken = 0);
  Value isFullBlock(const StepPlace &at, const RowBounds &bounds);
  SmallVector<Value> loopOverBlocks(Registers starts, LoopBody body);
  std::string items();

  //===- Steps that may be skipped (SkippedSteps.cpp) ---------------------------------===//
  /// Emits a step of a stream that may stop early: the last carried value is nonzero to continue.
  SmallVector<Value> emitStepOrSkip(const Num &n, ValueRange carried);
  /// Emits a step that is skipped if the snapshot of its block is negligible.
  SmallVector<Value> emitStepUnlessSmall(const Num &n, ValueRange carried);
  /// Emits a step that is skipped if the code of the mask drops all pairs of its block.
  SmallVector<Value> emitStepUnlessEmpty(const Num &n, ValueRange carried);
  SmallVector<Value> emitStepAtAll(const Num &n, ValueRange carried);
  struct States {
    Num least, most;
  };
  /// Returns the smallest and the largest state (tile.pairs) of the step's block.
  States statesOf(const StepPlace &at);
  void storeZeros(const Num &n);
  std::pair<Value, size_t> vote(Value condition);
  Value isAnyAtLeast(const Step &step, const Registers &values, double bound);
  SmallVector<Value> leaveOut(const Num &n, ValueRange carried, size_t taken = 0);

  FragmentKernel k;
  KernelBuilder &b;
  StreamOp stream;
  const StageProgram &steps;
  const ::pe::math::Role &role;
  OuterFolds &folds;
  const LaneSums laneSums;
  const DistanceSums &vectorSums;
  Scope around;
  const bool hasStates, mayStop, maySkip;

  // Set before the loop.
  Num firstInner, innerCount, count; // count: the steps of the CTA
  BlockAt current{0, 0, 0}; // the block of the trip that is emitted, block 0 before the loop
  RowBounds ownBounds;      // if rows own
  llvm::MapVector<Value, Panel> innerPanels;
  llvm::MapVector<Value, Window> windows;         // by table
  llvm::MapVector<Value, SegmentTables> segments; // by coefficients
  llvm::MapVector<Value, Panel> vectors;          // of the distance, by table
  llvm::MapVector<LoadOp, Window> lines;          // values of the inner side
  SmallVector<MapOp> innerRoundings;              // of inner panels, before they are read
  SmallVector<Operation *> perStep; // ops of the stage on the inner side, then the stream's
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_STREAMSTAGE_H
