//===- MapEmitter.h - scalar regions on vectors ---------------------------===//
//
// The region of a tile.map is written for one point. The emitter turns it into code for a vector of
// query rows, and evaluates every operation as rarely as its dependences allow:
//
//   depends on          evaluated                    as
//   nothing, b, h       once per strip               a scalar
//   the row (i, r)      once per strip and vector    a vector
//   the key (j, c)      once per key                 a scalar
//   both (rc), a depth  per key (depth) and vector   a vector
//
// so `amp[h] * exp2(-|i - j| / tau[h])` reads its parameters once per strip. If lanes are keys, a
// strip is one row: everything that does not depend on the key is a scalar, evaluated once per
// strip, and everything else is a vector, evaluated per vector of keys. Index values are i32
// in vectors, which is sufficient (pe-tile-define-integers). Loops whose bounds do not depend on
// the pair (the layers of a network) remain loops over vectors; their scratch memory has a vector
// per element.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_MAPEMITTER_H
#define PE_PASSES_TOCPU_MAPEMITTER_H

#include "passes/Scalar/Variation.h"
#include "passes/ToCPU/StageContext.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tile::cpu {

/// The rows and keys for which code is being emitted.
struct StripPlace {
  Index b, hq, hkv;
  Index row;              // first row of the strip, within its head
  Index rowCount;         // rows of the strip that exist
  Index block;            // first key of the block
  Index split;            // the split of the keys
  Index keyBegin, keyEnd; // keys of the block to visit, relative to it
  bool masked = false;

  Place place() const { return {b, hq, hkv, row, block, 0, 0, split}; }
};

/// Emits the operands of maps: scalars for values over h and c, vectors for all others. If lanes
/// are keys, values over r are scalars too, and those over c are vectors.
class OperandSource {
public:
  virtual ~OperandSource() = default;
  virtual Value uniform(Value value) = 0;
  virtual Value row(Value value, int64_t vector) = 0;
  virtual Value column(Value value, const Index &column) = 0;
};

/// Emits the regions of maps for the current strip and key.
class MapEmitter {
public:
  using ElementFn = llvm::function_ref<Value(Value operand)>;
  using AccumulateFn = llvm::function_ref<void(AccumulateOp)>;

  MapEmitter(StageContext &context, OperandSource &source) : context(context), source(source) {}

  /// Start another strip or key; discard the values evaluated for the previous one.
  void beginStrip(const StripPlace &place);
  void beginKey(const Index &column);

  /// Evaluates everything that depends on neither a key nor a depth. Must be called where it
  /// dominates every `emit`.
  void prepare(MapOp map);
  /// Returns the results for vector `vector` at the current key (or depth). `element` provides the
  /// operands that depend on both. `accumulate` is called for each tile.accumulate, after its
  /// operands are evaluated.
  SmallVector<Value> emit(MapOp map, int64_t vector, ElementFn element,
                          AccumulateFn accumulate = nullptr);
  /// Returns the results of a map of values over h or c, as scalars.
  SmallVector<Value> emitScalars(MapOp map);

  /// Returns, as a vector, a region value that the last `emit` evaluated.
  Value vectorOf(Value regionValue, int64_t vector) { return lift(regionValue, vector); }
  /// Returns, as a scalar, a region value that does not depend on the row.
  Value scalarAt(Value regionValue) { return scalarOf(regionValue); }
  bool dependsOnRow(Value regionValue) { return dependenceOf(regionValue) & kRow; }

  /// Fails with the reason in `why` if a region has operations without a vector form.
  static LogicalResult check(MapOp map, std::string &why);

private:
  using Cache = llvm::DenseMap<Value, Value>;

  unsigned dependenceOf(Value regionValue);
  void bindArguments(MapOp map, unsigned level, int64_t vector, ElementFn element);
  void emitOps(MapOp map, unsigned level, int64_t vector);
  void emitInPlace(Operation &op, int64_t vector, AccumulateFn accumulate);
  void emitLoop(scf::ForOp loop, int64_t vector, AccumulateFn accumulate);
  Value scratchOf(Value memory);
  Cache &cacheOf(unsigned level, int64_t vector);
  Value scalarOf(Value regionValue);
  Value lift(Value regionValue, int64_t vector);
  void emitScalar(Operation &op, Cache &into);
  void emitVector(Operation &op, unsigned level, int64_t vector);
  Value emitLimit(Operation &op, ArrayRef<Value> operands);
  Value emitVectorOp(Operation &op, ArrayRef<Value> operands);
  Value emitGather(ReadOp read, ArrayRef<Value> indices);

  StageContext &context;
  OperandSource &source;
  StripPlace place;
  Index column;
  RegionVariation variation;
  Cache uniforms, columns;
  Cache elements, locals;  // of the current element: vectors; scalars inside loops
  Cache scratch;           // vectors of the region's scratch memory, by its memref
  SmallVector<Cache> rows; // one per vector
};

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_MAPEMITTER_H
