//===- RowState.h - values over rows that outlive a block of keys ---------===//
//
// Values over r, rd and re that live longer than one strip against one block: the inputs of the
// stream (scaled queries packed transposed, log-sum-exp, ...), its carries and its folds over rows.
// Every strip has a block of f32 with a vector per row value and a panel [depth][rows of the strip]
// per panel. The block is in scratch if rows own the loop, and in a temporary buffer if columns do.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_ROWSTATE_H
#define PE_PASSES_TOCPU_ROWSTATE_H

#include "passes/ToCPU/StripEmitter.h"

namespace mlir::tile::cpu {

/// The values over rows that the ops before, in and after a stage's stream pass to each other.
struct RowInterface {
  RowInterface(StageOp stage, const CpuSchedule &cpu);

  mutable StreamOp stream; // a handle; its accessors are not const
  /// The ops before the stream, and those after it, grouped by their results.
  SmallVector<Operation *> before, afterRows, afterColumns;
  /// Values computed before the stream that it, or the row ops after it, read.
  SmallVector<Value> rows, panels;
  /// Loaded panels that must be packed, because they are live or operands of a computed value.
  SmallVector<LoadOp> packed;
  /// Contractions by pairs: the panels that need pairs of depths, and loaded panels that need pairs
  /// of rows.
  SmallVector<Value> depthPairs, rowPairs;

  /// Returns the number of floats per strip of all kept values and pairs.
  int64_t stripFloats(const CpuSchedule &cpu, int64_t headDim, int64_t valueDim) const;
  /// Returns all kept values in memory order; carries and folds are the stream's results.
  SmallVector<Value> kept() const;

private:
  void findPairs(const CpuSchedule &cpu);
};

/// Moves the values of a RowInterface between a strip's code and memory.
class RowState {
public:
  RowState(StageContext &context, StripValues &values, const RowInterface &interface, Value memory);

  int64_t stripFloats() const { return floats; }

  /// Evaluates all ops before the stream for the strip at values.getPlace() and stores their kept
  /// results. Initializes carries and zeroes folds. `at` is the strip's block.
  void begin(const Index &at);
  /// Passes the inputs of the body to `values`; returns the panels in which its results accumulate.
  RowPanels enter(const Index &at);
  /// Stores the carries and folds over r that the body yielded.
  void leave(const Index &at);
  /// Evaluates all ops after the stream on values over rows.
  void end(const Index &at);
  /// Returns the memory of the carries.
  Value carryMemory() const { return memory; }
  /// Returns the place of the vectors of carry `index` of the strip.
  Index carryAt(const Index &at, unsigned index) {
    return at + Index(offsets.lookup(result(index)));
  }

private:
  Value result(unsigned i) { return interface.stream.getResult(i); }
  Panel panelOf(Value kept, const Index &at) { return {memory, at + Index(offsets.lookup(kept))}; }
  Panel depthPairsOf(Value panel, const Index &at) {
    return {memory, at + Index(depthPairOffsets.lookup(panel))};
  }
  Panel rowPairsOf(Value panel, const Index &at) {
    return {memory, at + Index(rowPairOffsets.lookup(panel))};
  }
  void packPairs(const Index &at);
  void restoreInputs(const Index &at);

  StageContext &context;
  StripValues &values;
  const RowInterface &interface;
  Value memory;
  int64_t floats = 0;
  llvm::DenseMap<Value, int64_t> offsets, depthPairOffsets, rowPairOffsets;
  llvm::DenseMap<Value, Value> packScratch;
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_ROWSTATE_H
