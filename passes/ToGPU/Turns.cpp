//===- Turns.cpp - CTAs add to shared data in a fixed order ---------------===//
#include "passes/ToGPU/Turns.h"

#include "passes/ToGPU/FragmentKernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

static void waitFor(KernelBuilder &b, const Turn &turn) {
  Value wanted = b.toValue(turn.number);
  auto loop = b.create<scf::WhileOp>(TypeRange(), ValueRange());
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&loop.getBefore());
  Value shown =
      b.create<LLVM::LoadOp>(b.i32(), turn.ticket, /*alignment=*/4, /*isVolatile=*/false,
                             /*isNonTemporal=*/false, /*isInvariant=*/false,
                             /*isInvariantGroup=*/false, LLVM::AtomicOrdering::acquire, "device");
  b.create<scf::ConditionOp>(b.create<arith::CmpIOp>(arith::CmpIPredicate::ne, shown, wanted),
                             ValueRange());
  b.createBlock(&loop.getAfter());
  b.create<scf::YieldOp>();
}

/// Emits `body` for each turn, for a thread of a different warp.
static void eachByOneThread(FragmentKernel &k, ArrayRef<Turn> turns,
                            llvm::function_ref<void(const Turn &)> body) {
  KernelBuilder &b = k.b;
  for (auto [index, turn] : llvm::enumerate(turns)) {
    Value isMine = b.compare(arith::CmpIPredicate::eq, k.thread, index % k.schedule.warps * 32);
    b.ifThen(isMine, [&, &turn = turn] { body(turn); });
  }
}

void mlir::tile::gpu::waitForTurns(FragmentKernel &k, ArrayRef<Turn> turns) {
  eachByOneThread(k, turns, [&](const Turn &turn) { waitFor(k.b, turn); });
}

void mlir::tile::gpu::passTurnsOn(FragmentKernel &k, ArrayRef<Turn> turns) {
  // The release is cumulative (PTX ISA, memory consistency model: causality order), so no other
  // thread waits for the device.
  KernelBuilder &b = k.b;
  eachByOneThread(k, turns, [&](const Turn &turn) {
    b.create<LLVM::StoreOp>(b.toValue(turn.number + Num(1)), turn.ticket, /*alignment=*/4,
                            /*isVolatile=*/false, /*isNonTemporal=*/false,
                            /*isInvariantGroup=*/false, LLVM::AtomicOrdering::release, "device");
  });
}

void mlir::tile::gpu::takeTurns(FragmentKernel &k, ArrayRef<Turn> turns) {
  if (turns.empty())
    return;
  waitForTurns(k, turns);
  k.b.barrier();
  for (const Turn &turn : turns)
    turn.work();
  k.b.barrier();
  passTurnsOn(k, turns);
}
