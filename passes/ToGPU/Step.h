//===- Step.h - what the code at one place of the kernel knows --*- C++ -*-===//
//
// Code stands around the stream's loop or in a step of it, and is written with the Scope of its
// place: the registers and panels of values of the tile program, and where rows and columns are. A
// step sees what stands around the loop; what it adds itself goes when its Step does, so that no
// other step can read it. Emitters of ops that only steps have take a Step, the others a Scope.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_STEP_H
#define PE_PASSES_TOGPU_STEP_H

#include "passes/ToGPU/FragmentKernel.h"
#include "passes/ToGPU/Turns.h"

#include <optional>

namespace mlir::tile::gpu {

/// What values of the tile program have become.
template <typename T> class ValueMap {
public:
  /// What `outer` knows is known here too.
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
  Num block, base; // number, first inner
};

class Step;

class Scope {
public:
  /// The code around the loop.
  explicit Scope(FragmentKernel &kernel) : k(kernel) {}
  Scope(const Scope &) = delete;

  FragmentKernel &k;

  /// The step whose code this is.
  Step &step();
  const Step &step() const { return const_cast<Scope *>(this)->step(); }

  //===- Values ------------------------------------------------------------------------===//
  const Registers &registers(Value value) const { return values.at(value); }
  void set(Value value, Registers registers) { values.set(value, std::move(registers)); }
  bool isPanel(Value value) const { return panels.find(value); }
  const Panel &panelOf(Value value) const { return panels.at(value); }
  void setPanel(Value value, const Panel &panel) { panels.set(value, panel); }
  /// The shared memory of pairs that is made before the loop, or null.
  const Panel *pairPanelOf(Value value) const { return pairPanels.find(value); }
  void setPairPanel(Value value, const Panel &panel) { pairPanels.set(value, panel); }
  /// What this thread has copied to shared memory so far is there; a step starts with that.
  void waitForCopies();

  //===- Places ------------------------------------------------------------------------===//
  const Num &queryHead() const;
  Place place() const;
  /// Inner, row or column within the call, of an element.
  Num innerAt(const Element &at) const;
  Num rowAt(const Element &at) const { return k.rowsOwn ? k.ownerAt(at) : innerAt(at); }
  Num columnAt(const Element &at) const { return k.rowsOwn ? innerAt(at) : k.ownerAt(at); }
  /// The same of an inner panel that is summed up.
  Num foldedInnerAt(const Element &at) const;

protected:
  /// The code of `inner`, a step.
  Scope(const Scope &around, Step *inner);

private:
  Step *const inner = nullptr;
  ValueMap<Registers> values;
  ValueMap<Panel> panels, pairPanels;
  bool hasCopies = false;
};

/// Bounds of the columns of this lane's rows; empty where the stage's pairs have none.
struct RowBounds {
  Registers low, high;
};

/// What a step asks once for all of its pairs.
struct StepFacts {
  RowBounds bounds;
  Value isFull;          // every pair of this warp's block exists and is inside the mask
  Value isFirst, isLast; // of the steps of a head
};

/// A value over rows or columns that is added to a buffer.
struct LineSum {
  Value buffer;
  SpaceSet spaces;
  Registers sums;
};

class Step : public Scope {
public:
  /// A step that may store zeros, copy its block and take its turns.
  Step(const Scope &around, const StepPlace &place) : Scope(around, this), at(place) {}

  const StepPlace at;

  /// From here on its pairs are computed.
  void begin(StepFacts found) { facts = std::move(found); }
  const RowBounds &bounds() const { return begun().bounds; }
  Value isFull() const { return begun().isFull; }
  Value isFirst() const { return begun().isFirst; }
  Value isLast() const { return begun().isLast; }
  /// The part of a table of distances that the block needs.
  const Window &windowOf(Value table) const { return windows.at(table); }
  void setWindow(Value table, const Window &window) { windows.set(table, window); }

  //===- Pairs through shared memory: rows are owners, columns inner ------------------------===//
  /// Pairs of which a warp reads its own owners', until the next call.
  Panel pairsOfWarp(const Registers &pairs);
  /// The pairs of all warps; ends with a barrier.
  Panel pairsOfAll(const Registers &pairs, Type element);
  /// The same of a value, written on the first call for it.
  Panel stagedPairs(Value value);

  //===- What one op of the step leaves to another -----------------------------------------===//
  /// The kinks of these knots inside the block, found on the first call (Biases.cpp).
  Interval<Num> kinksOf(Value u, Value knots, llvm::function_ref<Interval<Num>()> find);
  /// The fold that the contraction contributes to, where it adds to its accumulators.
  const Registers *foldOf(Value contraction) const { return folds.find(contraction); }
  void setFold(Value contraction, Registers fold) { folds.set(contraction, std::move(fold)); }
  /// What the step does in turns, at its end.
  void addTurn(Turn turn) { turns.push_back(std::move(turn)); }
  void takeTurns() { gpu::takeTurns(k, std::exchange(turns, {})); }
  /// Values over the inner side that the step adds to buffers, when its turn comes.
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
  std::optional<Panel> warpPairs;
  ValueMap<Panel> staged;
  llvm::DenseMap<std::pair<Value, Value>, Interval<Num>> kinks;
  ValueMap<Registers> folds;
  SmallVector<Turn> turns;
  SmallVector<LineSum> lines;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_STEP_H
