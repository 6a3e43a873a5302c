//===- Near.cpp - tables of near distances on fragments --------------------===//
#include "passes/ToGPU/Emitters.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::gpu;

namespace {

/// The entries of pairs in a table [..., count, rows], and their addresses.
struct NearEntries {
  NearEntries(Step &step, Value table, int64_t first)
      : step(step), k(step.k), count(entriesOfNear(table)), first(first),
        base(k.fn.address(table, step.place())) {}

  Num entryOf(const Element &at) {
    return step.rowAt(at) + k.mask.rowStart - step.columnAt(at) - k.mask.columnStart - Num(first);
  }
  /// Returns the address of `entry` and `row`, which must be inside the table.
  Value addressOf(const Num &entry, const Num &row) {
    return k.b.global(base, (entry * k.rows + row) * Num(4));
  }

  Step &step;
  FragmentKernel &k;
  const int64_t count, first;
  Value base;
};

} // namespace

void mlir::tile::gpu::emitNear(Step &step, NearOp op) {
  FragmentKernel &k = step.k;
  NearEntries entries(step, op.getTable(), op.getFirst());
  Registers values;
  for (int64_t i = 0, e = k.registersOf({"r", "c"}); i < e; ++i) {
    Element at = k.elementAt({"r", "c"}, i);
    Num entry = maxOf(Num(0), minOf(entries.entryOf(at), Num(entries.count - 1)));
    Num row = maxOf(Num(0), minOf(step.rowAt(at), k.rows - Num(1)));
    values.push_back(k.b.load(k.b.f32(), entries.addressOf(entry, row)));
  }
  step.set(op.getValue(), std::move(values));
}

/// Stores the pairs. Every entry belongs to one pair, so there are no sums and no order.
void mlir::tile::gpu::emitNearGrad(Step &step, NearGradOp op) {
  FragmentKernel &k = step.k;
  KernelBuilder &b = k.b;
  NearEntries entries(step, op.getTable(), op.getFirst());
  for (auto [index, value] : llvm::enumerate(step.registers(op.getValue()))) {
    Element at = k.elementAt({"r", "c"}, index);
    Num entry = entries.entryOf(at);
    Value isEntry = b.both(b.less(Num(-1), entry), b.less(entry, Num(entries.count)));
    b.ifThen(b.both(isEntry, isInside(step, at)),
             [&, value = value] { b.store(value, entries.addressOf(entry, step.rowAt(at))); });
  }
}
