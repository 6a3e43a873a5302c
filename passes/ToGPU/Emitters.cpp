//===- Emitters.cpp - dispatches each op to its emitter -------------------===//
#include "passes/ToGPU/Emitters.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

void mlir::tile::gpu::emitOp(Scope &scope, Operation *op) {
  const LocationScope location(scope.k.b, op->getLoc());
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ConstantOp o) { emitConstant(scope, o); })
      .Case<PositionOp, IndexOp>([&](auto o) { emitIndices(scope, o); })
      .Case([&](LoadOp o) { emitLoad(scope, o); })
      .Case([&](StoreOp o) { emitStore(scope, o); })
      .Case([&](MapOp o) { emitMap(scope, o); })
      .Case([&](DotOp o) { emitDot(scope.step(), o); })
      .Case([&](MaskOp o) { emitMask(scope.step(), o); })
      .Case([&](RandomOp o) { emitRandom(scope.step(), o); })
      .Case([&](ReduceOp o) { emitReduce(scope.step(), o); })
      .Case([&](RescaleOp o) { emitRescale(scope.step(), o); })
      .Case([&](ScanOp o) { emitScan(scope.step(), o); })
      .Case([&](WindowOp o) { emitWindow(scope.step(), o); })
      .Case([&](WindowDotOp o) { emitWindowDot(scope.step(), o); })
      .Case([&](WindowSumOp o) { emitWindowSum(scope.step(), o); })
      .Case([&](WindowOuterOp o) { emitWindowOuter(scope.step(), o); })
      .Case([&](SegmentsOp o) { emitSegments(scope.step(), o); })
      .Case([&](NearOp o) { emitNear(scope.step(), o); })
      .Case([&](NearGradOp o) { emitNearGrad(scope.step(), o); })
      .Case([&](WindowGradOp o) { emitWindowGrad(scope.step(), o); })
      .Case([&](SegmentsGradOp o) { emitSegmentsGrad(scope.step(), o); })
      .Default([](Operation *) { llvm_unreachable("rejected by checkStage"); });
}
