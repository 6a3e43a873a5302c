//===- RowState.h - what rows keep while keys stream by -------------------===//
//
// Values over r, rd and re that live longer than one strip against one block: what the
// stream reads of them (scaled queries packed transposed, log-sum-exp, ...), its carries
// and its folds over rows. Per strip a block of f32: a vector per row value, a panel
// [depth][rows of the strip] per panel. In scratch where rows own the loop, in a
// temporary buffer where columns do.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_ROWSTATE_H
#define PE_PASSES_TOCPU_ROWSTATE_H

#include "passes/ToCPU/StripEmitter.h"

namespace mlir::tile::cpu {

/// The values over rows that the ops before, in and after a stage's stream pass to each other.
struct RowInterface {
  explicit RowInterface(StageOp stage);

  mutable StreamOp stream; // a handle; its accessors are not const
  /// The ops before the stream and after it; the latter split by what they produce.
  SmallVector<Operation *> before, afterRows, afterColumns;
  /// Values from before the stream that it, or the row ops after it, read.
  SmallVector<Value> rows, panels;
  /// Loaded panels that need packing: they are live themselves or used to compute something.
  SmallVector<LoadOp> packed;

  /// Floats per strip of everything kept.
  int64_t stripFloats(int64_t stripRows, int64_t headDim, int64_t valueDim) const;
  /// Every kept value in memory order, with carries and folds as the stream's results.
  SmallVector<Value> kept() const;
};

/// Moves the values of a RowInterface between a strip's code and memory.
class RowState {
public:
  RowState(StageContext &context, StripValues &values, const RowInterface &interface, Value memory);

  int64_t stripFloats() const { return floats; }

  /// Evaluates everything before the stream for the strip at values.getPlace() and keeps it;
  /// carries get their first values, folds zero. `at` is the strip's block.
  void begin(const Index &at);
  /// Gives `values` what the body reads; returns where its panels accumulate.
  RowPanels enter(const Index &at);
  /// Keeps the carries and folds over r that the body yielded.
  void leave(const Index &at);
  /// Evaluates everything after the stream.
  void end(const Index &at);
  /// The vectors of the carry `index` of the strip.
  Value carryMemory() const { return memory; }
  Index carryAt(const Index &at, unsigned index) {
    return at + Index(offsets.lookup(result(index)));
  }

private:
  Value result(unsigned i) { return interface.stream.getResult(i); }
  Panel panelOf(Value kept, const Index &at) { return {memory, at + Index(offsets.lookup(kept))}; }
  void restoreInputs(const Index &at);

  StageContext &context;
  StripValues &values;
  const RowInterface &interface;
  Value memory;
  int64_t floats = 0;
  llvm::DenseMap<Value, int64_t> offsets;
  llvm::DenseMap<Value, Value> packScratch;
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_ROWSTATE_H
