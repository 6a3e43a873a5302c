//===- LaunchWrites.cpp - the buffers that a lowered stage writes ---------===//
#include "passes/ToLoops/LaunchWrites.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::tile;

/// Returns true if the operation only reads the buffer.
static bool isOnlyRead(Operation *op, Value buffer) {
  if (isa<LoadOp, ReadOp, WindowOp, WindowDotOp, WindowSumOp, SegmentsOp, NearOp, RandomOp,
          StreamOp>(op))
    return true;
  if (auto find = dyn_cast<FindSegmentsOp>(op))
    return !llvm::is_contained({find.getKnots(), find.getCoefficients(), find.getCount()}, buffer);
  if (auto grad = dyn_cast<SegmentsGradOp>(op))
    return !llvm::is_contained(
        {Value(grad.getMoments()), Value(grad.getVGrad()), Value(grad.getUGrad())}, buffer);
  return false;
}

void mlir::tile::noteWrites(LaunchOp launch, StageOp stage) {
  llvm::DenseSet<Value> known, written;
  for (Value buffer : stage.getPairBuffers())
    known.insert(buffer);
  stage.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<BufferType>(operand.getType())) {
        known.insert(operand);
        if (Value table = tableOf(operand))
          known.insert(table);
        if (!isOnlyRead(op, operand))
          written.insert(operand);
      }
  });
  SmallVector<int64_t> writes;
  for (auto [index, buffer] : llvm::enumerate(launch.getBuffers()))
    if (written.contains(buffer) || !known.contains(buffer))
      writes.push_back(index);
  launch.setWrites(writes);
}
