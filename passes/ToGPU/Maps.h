//===- Maps.h - scalar regions in a kernel --------------------------------===//
#ifndef PE_PASSES_TOGPU_MAPS_H
#define PE_PASSES_TOGPU_MAPS_H

#include "passes/ToGPU/KernelFunction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <functional>

namespace mlir::tile::gpu {

/// Emits copies of a region's scalar code. Index values become i32, reads of buffers become loads
/// at clamped indices, and memory of the region becomes memory of the thread. In f32, exp2, log2
/// and the reciprocals of normalizers use the special function unit.
class RegionWriter {
public:
  RegionWriter(KernelFunction &fn, Block &body);

  /// The values of the region's arguments, and of ops that need not be emitted again.
  llvm::DenseMap<Value, Value> mapping;
  /// Called for each tile.accumulate, after its operands are emitted.
  std::function<void(AccumulateOp, RegionWriter &)> accumulate;

  /// Emits the ops that are not in `mapping` yet; returns the values that the terminator yields.
  SmallVector<Value> writeBody();
  Value lookup(Value value);
  /// Emits a tile.accumulate as a load, an addition and a store of this thread.
  void addToMemory(AccumulateOp sum);
  /// Adds to the pair's own element, to which no other pair and no other lane adds, if `counts`.
  void addToElement(AccumulateOp sum, Value counts);

private:
  SmallVector<Num> numbersOf(Value buffer, ValueRange indices, bool inbounds);
  Value addressOf(Value buffer, ValueRange indices, bool inbounds);
  Value scratchAddress(Value memory, ValueRange indices);
  void writeLoop(scf::ForOp loop);
  void writeBranch(scf::IfOp branch);
  void write(Operation &op);
  Value writeScalar(Operation &op);

  KernelFunction &fn;
  KernelBuilder &b;
  Block &body;
  llvm::DenseMap<Value, Value> scratch;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_MAPS_H
