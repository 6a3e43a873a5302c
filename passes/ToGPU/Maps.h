//===- Maps.h - scalar regions in a kernel --------------------------------===//
#ifndef PE_PASSES_TOGPU_MAPS_H
#define PE_PASSES_TOGPU_MAPS_H

#include "passes/ToGPU/KernelFunction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <functional>

namespace mlir::tile::gpu {

/// Writes copies of a region's scalar code: index values become i32, reads of buffers loads at
/// clamped indices, memory of the region memory of the thread, exp2, log2 and the reciprocals of
/// normalizers the special function unit's in f32.
class RegionWriter {
public:
  RegionWriter(KernelFunction &fn, Block &body);

  /// Values of the region's arguments, and of what need not be written again.
  llvm::DenseMap<Value, Value> mapping;
  /// Called where a tile.accumulate stands, its operands written.
  std::function<void(AccumulateOp, RegionWriter &)> accumulate;

  /// Writes what is not in `mapping` yet; what the terminator yields.
  SmallVector<Value> writeBody();
  Value lookup(Value value);
  /// What a tile.accumulate says, by this thread alone.
  void addToMemory(AccumulateOp sum);

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
