//===- Step.h - the state of emission at one point of a kernel --*- C++ -*-===//
//
// Code is either around the stream's loop or in a step of it. Its Scope holds the registers and
// panels of lowered values and the positions of rows and columns. A step also reads the values from
// around the loop; the values that it adds itself are discarded with its Step, so that no other
// step can read them. Emitters of ops that occur only in steps take a Step, the others a Scope.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_STEP_H
#define PE_PASSES_TOGPU_STEP_H

#include "passes/ToGPU/FragmentKernel.h"
#include "passes/ToGPU/Turns.h"

#include <optional>

namespace mlir::tile::gpu {

/// The lowered forms of values.
template <typename T> class ValueMap {
public:
  /// Falls back to `outer` for values that it does not have.
  explicit ValueMap(const ValueMap *outer = nullptr) : outer(outer) {}

  const T *find(Value value) const {
    auto found = own.find(value);
    if (found != own.end())
      return &found->second;
    return outer ? outer->find(value) : nullptr;
  }
  const T &at(Value value) const {
    const T *found = find(value);
    assert(found && "value used before it was lowered");
    return *found;
  }
  void set(Value value, T lowered) { own[value] = std::move(lowered); }

private:
  const ValueMap *outer;
  llvm::DenseMap<Value, T> own;
};

/// The query head and the inner block of a step.
struct StepPlace {
  Num queryHead;
  Num block, base; // the block's index and first inner element
};

class Step;

/// The state of emission around the loop, or in a step.
class Scope {
public:
  /// Creates the scope of the code around the loop.
  explicit Scope(FragmentKernel &kernel) : k(kernel) {}
  Scope(const Scope &) = delete;

  FragmentKernel &k;

  /// Returns the step of this scope, which must be in the loop.
  Step &step();
  const Step &step() const { return const_cast<Scope *>(this)->step(); }

  //===- Values ------------------------------------------------------------------------===//
  const Registers &registers(Value value) const { return values.at(value); }
  void set(Value value, Registers registers) { values.set(value, std::move(registers)); }
  bool isPanel(Value value) const { return panels.find(value); }
  const Panel &panelOf(Value value) const { return panels.at(value); }
  void setPanel(Value value, const Panel &panel) { panels.set(value, panel); }
  /// Returns the shared memory of pairs that was allocated before the loop, or null.
  const Panel *pairPanelOf(Value value) const { return pairPanels.find(value); }
  void setPairPanel(Value value, const Panel &panel) { pairPanels.set(value, panel); }
  /// Waits for this thread's previous copies to shared memory. A step begins with such a wait.
  void waitForCopies();

  //===- Places ------------------------------------------------------------------------===//
  const Num &queryHead() const;
  Place place() const;
  /// Return the inner element, row or column of an element within the call.
  Num innerAt(const Element &at) const;
  Num rowAt(const Element &at) const { return k.rowsOwn ? k.ownerAt(at) : innerAt(at); }
  Num columnAt(const Element &at) const { return k.rowsOwn ? innerAt(at) : k.ownerAt(at); }
  /// Returns the inner element of an inner panel of sums.
  Num foldedInnerAt(const Element &at) const;

protected:
  /// Creates the scope of `inner`, a step.
  Scope(const Scope &around, Step *inner);

private:
  Step *const inner = nullptr;
  ValueMap<Registers> values;
  ValueMap<Panel> panels, pairPanels;
  bool hasCopies = false;
};

/// The bounds of the columns of this lane's rows; empty if the stage's pairs have no bounds.
struct RowBounds {
  Registers low, high;
};

/// Values that a step computes once for all of its pairs.
struct StepFacts {
  RowBounds bounds;
  Value isFull;          // true if all pairs of this warp's block exist and are inside the mask
  Value isFirst, isLast; // of the steps of a head
};

/// A sum over the block's owners for each inner element, which is added to a buffer. Shared memory
/// holds the sums of each warp from `offset` on, in the order of the fragments.
struct LineSum {
  Value buffer;
  SpaceSet spaces;
  int64_t offset;
};

/// The state of emission in one step of the loop.
class Step : public Scope {
public:
  /// Creates a step that can store zeros, copy its block and take its turns.
  Step(const Scope &around, const StepPlace &place) : Scope(around, this), at(place) {}

  const StepPlace at;

  /// Sets the facts. Must be called before the step computes its pairs.
  void begin(StepFacts found) { facts = std::move(found); }
  const RowBounds &bounds() const { return begun().bounds; }
  Value isFull() const { return begun().isFull; }
  Value isFirst() const { return begun().isFirst; }
  Value isLast() const { return begun().isLast; }
  /// Returns the part of a table of distances that the block reads.
  const Window &windowOf(Value table) const { return windows.at(table); }
  void setWindow(Value table, const Window &window) { windows.set(table, window); }
  /// Returns the tables of a piecewise function.
  const SegmentTables &segmentsOf(Value coefficients) const { return segments.at(coefficients); }
  void setSegments(const SegmentTables &tables) { segments.set(tables.coefficients, tables); }

  //===- Pairs through shared memory: rows are owners, columns inner ------------------------===//
  /// Stores pairs, of which each warp reads those with its owners. The panel is valid until the
  /// next call.
  Panel pairsOfWarp(const Registers &pairs);
  /// Stores the pairs of all warps; ends with a barrier.
  Panel pairsOfAll(const Registers &pairs, Type element);
  /// Stores the pairs of a value on the first call for it; ends with a barrier.
  Panel stagedPairs(Value value);

  //===- State shared by ops of the step ---------------------------------------------------===//
  /// Returns the kinks of a function inside the block, computed on the first call (Piecewise.cpp).
  Interval<Num> kinksOf(Value coefficients, llvm::function_ref<Interval<Num>()> find);
  /// Returns the fold to whose accumulators the contraction adds, or null.
  const Registers *foldOf(Value contraction) const { return folds.find(contraction); }
  void setFold(Value contraction, Registers fold) { folds.set(contraction, std::move(fold)); }
  /// Adds work that the step does at its end: its branches would separate the products that follow
  /// from those before.
  void addWork(std::function<void()> work) { works.push_back(std::move(work)); }
  /// Adds work that the step does in turns, at its end.
  void addTurn(Turn turn) { turns.push_back(std::move(turn)); }
  /// Does the work.
  void finish() {
    for (const std::function<void()> &work : std::exchange(works, {}))
      work();
    gpu::takeTurns(k, std::exchange(turns, {}));
  }
  /// Adds values over the inner side that the step adds to buffers when its turn comes.
  void addLine(LineSum line) { lines.push_back(std::move(line)); }
  SmallVector<LineSum> takeLines() { return std::exchange(lines, {}); }

private:
  const StepFacts &begun() const {
    assert(facts && "this step computes no pairs");
    return *facts;
  }
  void storePairs(const Panel &panel, const Registers &pairs);
  Panel newPairPanel(Type element);

  std::optional<StepFacts> facts;
  ValueMap<Window> windows;
  ValueMap<SegmentTables> segments;
  std::optional<Panel> warpPairs;
  ValueMap<Panel> staged;
  llvm::DenseMap<Value, Interval<Num>> kinks;
  ValueMap<Registers> folds;
  SmallVector<std::function<void()>> works;
  SmallVector<Turn> turns;
  SmallVector<LineSum> lines;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_STEP_H
