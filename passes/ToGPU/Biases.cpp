//===- Biases.cpp - functions of the distance on fragments ----------------===//
#include "passes/ToGPU/Biases.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

//===- Windows -----------------------------------------------------------------===//

llvm::MapVector<Value, Window>
mlir::tile::gpu::makeWindows(FragmentKernel &k, llvm::function_ref<int64_t(Value)> slotsOf) {
  llvm::MapVector<Value, Window> windows;
  auto make = [&](Value table) {
    auto [found, isNew] = windows.try_emplace(table);
    if (isNew)
      found->second =
          k.shared.makeWindow(k.schedule.ownerBlock() + k.schedule.innerBlock - 1, slotsOf(table));
  };
  for (Operation &op : k.getStream().getBody().front()) {
    if (auto window = dyn_cast<WindowOp>(op))
      make(window.getTable());
    else if (auto segments = dyn_cast<SegmentsOp>(op))
      make(segments.getU());
    else if (auto gradient = dyn_cast<SegmentsGradOp>(op))
      make(gradient.getU());
  }
  return windows;
}

void mlir::tile::gpu::copyWindow(FragmentKernel &k, Value table, const Window &window,
                                 const Place &place, const Num &base) {
  KernelBuilder &b = k.b;
  const int64_t columns = k.rowsOwn ? k.schedule.innerBlock : k.schedule.ownerBlock();
  Num row = k.rowsOwn ? k.item.ownerBase : base, column = k.rowsOwn ? base : k.item.ownerBase;
  // Entry 0 of the window, in the table.
  Num first = row - column + k.columns - Num(columns);
  Num extent = k.fn.extents(table).back();
  Value start = k.fn.address(table, place);
  k.divideAmongThreads(window.entries, [&](const Num &index) {
    const Num entry = first + index;
    Value exists = b.both(b.compare(arith::CmpIPredicate::sge, entry, 0), b.less(entry, extent));
    Num to = window.copy * Num(window.copyBytes) + index * Num(4) + Num(window.offset);
    b.copyAsync(k.shared.at(to), b.global(start, entry * Num(4)), exists, 4);
  });
}

Registers mlir::tile::gpu::loadWindow(Step &step, Value table) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  const Window &window = step.windowOf(table);
  // The lane's element 0 within the block; the others are at constant distances from it.
  Element origin;
  Num owner = k.warp * Num(k.layout.ownerTiles * 16) + k.g, inner = k.layout.innerAt(k.t, origin);
  Num apart = k.rowsOwn ? owner - inner : inner - owner;
  const int64_t columns = k.rowsOwn ? k.schedule.innerBlock : k.schedule.ownerBlock();
  Num first =
      apart * Num(4) + window.copy * Num(window.copyBytes) + Num((columns - 1) * 4 + window.offset);
  const int64_t ownerSign = k.rowsOwn ? 1 : -1;
  llvm::SmallDenseMap<int64_t, Value> known; // pairs of one diagonal share a register
  Registers values;
  for (int64_t i = 0, e = k.registersOf({"r", "c"}); i < e; ++i) {
    Element at = k.elementAt({"r", "c"}, i);
    const int64_t away = at.ownerTile * 16 + at.ownerHalf * 8 -
                         (k.isPermuted ? at.innerTile * 2 : at.innerTile * 8) - at.innerHalf;
    Value &value = known[away];
    if (!value)
      value = b.load(b.f32(), k.shared.at(first + Num(ownerSign * away * 4)));
    values.push_back(value);
  }
  return values;
}

void mlir::tile::gpu::emitWindow(Step &step, WindowOp op) {
  step.set(op.getValue(), loadWindow(step, op.getTable()));
}
