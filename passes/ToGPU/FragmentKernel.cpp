//===- FragmentKernel.cpp - geometry and values of a fragment kernel ------===//
#include "passes/ToGPU/FragmentKernel.h"

#include "dialect/Tile/Owner.h"

#include "passes/ToGPU/Folds.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

static bool hasScan(StageOp stage) {
  return stage.walk([](ScanOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

FragmentKernel::FragmentKernel(StageOp stage, const GpuSchedule &schedule, KernelFunction &function)
    : stage(stage), stream(stage.getStream()), schedule(schedule), fn(function), b(function.b),
      rowsOwn(getOwner(stage) == Owner::Rows), isPermuted(hasScan(stage)),
      layout{schedule.ownerTiles, schedule.innerBlock, schedule.warps, isPermuted} {
  thread = b.threadIndex();
  lane = thread % Num(32), warp = thread / Num(32);
  g = lane / Num(4), t = lane % Num(4);
  rows = fn.size("r"), columns = fn.size("c");
  mask = keptPairs();
}

CallPairs FragmentKernel::keptPairs() {
  CallPairs kept;
  kept.rowStart = fn.size("q_start"), kept.columnStart = fn.size("k_start");
  // How far row 0 is behind column 0, plus an end of the mask: in 64 bits, then no farther away
  // than any call reaches (rows and columns are far below 2^30), so that 32 bits hold what is
  // added.
  constexpr int64_t kFar = int64_t(1) << 30;
  auto fromStarts = [&](int64_t end) {
    Type i64 = b.getI64Type();
    auto wide = [&](int64_t n) { return b.create<arith::ConstantOp>(b.getI64IntegerAttr(n)); };
    Value apart =
        b.create<arith::SubIOp>(b.create<arith::ExtSIOp>(i64, b.toValue(kept.rowStart)),
                                b.create<arith::ExtSIOp>(i64, b.toValue(kept.columnStart)));
    Value sum = b.create<arith::AddIOp>(apart, wide(std::clamp(end, -4 * kFar, 4 * kFar)));
    sum = b.create<arith::MaxSIOp>(b.create<arith::MinSIOp>(sum, wide(kFar)), wide(-kFar));
    return b.fromValue(b.create<arith::TruncIOp>(b.i32(), sum));
  };
  const MaskBand band = stage.getBand();
  if (band.lower)
    kept.lower = fromStarts(*band.lower);
  if (band.upper)
    kept.upper = fromStarts(*band.upper);
  kept.keepsSomething = band.keepsSomething();
  const int64_t owners = schedule.ownerBlock(), inners = schedule.innerBlock;
  // Rows at negative positions attend to nothing.
  kept.rows = {maxOf(Num(0), Num(0) - kept.rowStart), rows, rowsOwn ? owners : inners};
  kept.columns = {0, columns, rowsOwn ? inners : owners};
  return kept;
}

//===- Geometry ------------------------------------------------------------------===//

::pe::math::FragmentKind FragmentKernel::kindOf(const SpaceSet &s) const {
  using Kind = ::pe::math::FragmentKind;
  if (s.isEmpty())
    return Kind::One;
  if (isPair(s))
    return Kind::Pair;
  if (isOwnerSide(s))
    return hasDepth(s) ? Kind::OwnerPanel : Kind::Owner;
  return hasDepth(s) ? Kind::InnerPanel : Kind::Inner;
}

//===- Values ----------------------------------------------------------------------===//

Registers &FragmentKernel::registers(Value value) {
  auto found = values.find(value);
  assert(found != values.end() && "value used before it was lowered");
  return found->second;
}

Panel &FragmentKernel::panelOf(Value value) {
  auto found = panels.find(value);
  assert(found != panels.end() && "panel used before it was loaded");
  return found->second;
}

//===- Shared memory ------------------------------------------------------------------===//

int64_t FragmentKernel::allocate(int64_t bytes) {
  const int64_t offset = shared;
  shared += llvm::alignTo(bytes, 128);
  return offset;
}

Panel FragmentKernel::makePanel(int64_t panelRows, int64_t depth, Type element, int64_t copies) {
  Panel panel;
  panel.rows = panelRows, panel.depth = depth;
  panel.elementBytes = element.getIntOrFloatBitWidth() <= 16 ? 2 : 4;
  panel.element = element;
  panel.offset = allocate(panel.bytes() * copies);
  return panel;
}

Value FragmentKernel::chunkAddress(const Panel &panel, int64_t rowConstant, const Num &row,
                                   int64_t chunkConstant, const Num &chunk) {
  auto offset = panel.offsetOf(rowConstant, row, chunkConstant, chunk, panel.stage);
  // The exclusive or is of one number: the sum before it is made one.
  Num sum = offset.bytes + Num(panel.offset);
  if (offset.flipped)
    sum = b.fromValue(b.toValue(sum)) ^ Num(offset.flipped);
  return b.shared(fn.shared(), sum + Num(offset.behind));
}

//===- Pairs through shared memory ------------------------------------------------------===//

Panel FragmentKernel::warpPairs() {
  if (!pairsOfWarps)
    pairsOfWarps = makePanel(schedule.ownerBlock(), schedule.innerBlock, b.f32(), 1);
  return *pairsOfWarps;
}

void FragmentKernel::storePairs(const Panel &panel, const Registers &pairs) {
  Num warpRow = warp * Num(layout.ownerTiles * 16) + g;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    Element at = elementAt({"r", "c"}, i);
    Num column = t * Num(2);
    const int64_t first = at.innerTile * 8, perChunk = panel.perChunk();
    // Eight columns are one chunk of 16-bit elements, or two of f32.
    Value chunk = chunkAddress(panel, at.ownerTile * 16 + at.ownerHalf * 8, warpRow,
                               first / perChunk, column / Num(perChunk));
    Value address = b.shared(chunk, column % Num(perChunk) * Num(panel.elementBytes));
    if (panel.elementBytes == 2) {
      b.store(b.pack(pairs[i], pairs[i + 1]), address, 4);
      continue;
    }
    auto type = VectorType::get({2}, b.f32());
    Value pair = b.create<LLVM::PoisonOp>(type);
    pair = b.create<LLVM::InsertElementOp>(type, pair, pairs[i], b.integer(0));
    pair = b.create<LLVM::InsertElementOp>(type, pair, pairs[i + 1], b.integer(1));
    b.store(pair, address, 8);
  }
}

Panel FragmentKernel::stagedPairs(Value value) {
  auto found = staged.find(value);
  if (found != staged.end())
    return found->second;
  Type element = cast<ValType>(value.getType()).getElementType();
  Panel panel = makePanel(schedule.ownerBlock(), schedule.innerBlock, element, 1);
  storePairs(panel, registers(value));
  b.barrier();
  staged[value] = panel;
  return panel;
}

//===- Ops ------------------------------------------------------------------------------===//

void mlir::tile::gpu::emitOp(FragmentKernel &k, Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ConstantOp o) { emitConstant(k, o); })
      .Case<PositionOp, IndexOp>([&](auto o) { emitIndices(k, o); })
      .Case([&](LoadOp o) { emitLoad(k, o); })
      .Case([&](StoreOp o) { emitStore(k, o); })
      .Case([&](MapOp o) { emitMap(k, o); })
      .Case([&](DotOp o) { emitDot(k, o); })
      .Case([&](MaskOp o) { emitMask(k, o); })
      .Case([&](ReduceOp o) { emitReduce(k, o); })
      .Case([&](ScanOp o) { emitScan(k, o); })
      .Case([&](WindowOp o) { emitWindow(k, o); })
      .Case([&](SegmentsOp o) { emitSegments(k, o); })
      .Case([&](WindowGradOp o) { emitWindowGrad(k, o); })
      .Case([&](SegmentsGradOp o) { emitSegmentsGrad(k, o); })
      .Case([](memref::AllocaOp) {}) // memory of the thread, made where a map uses it
      .Default([](Operation *) { llvm_unreachable("refused by checkStage"); });
}
