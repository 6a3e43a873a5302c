//===- WindowGrad.cpp - sums along diagonals of a strip -------------------===//
#include "passes/ToCPU/Biases.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {
/// Consecutive keys add to overlapping windows, and a load that overlaps a store in flight stalls.
/// Keys at this stride do not overlap.
constexpr int64_t kKeyStride = 32;
} // namespace

void mlir::tile::cpu::emitDiagonalSums(StageContext &context, const StripPlace &place, Value table,
                                       llvm::function_ref<Value(Index, int64_t)> at) {
  Emitter &e = context.e;
  Value memory = context.memory(table);
  Index base = context.offset(table, place.place());
  Index distance = place.row - place.block + context.columns - Index(1);
  int64_t stride = std::min(kKeyStride, context.cpu.keyBlock);
  e.loop(0, stride, 1, [&](Index start) {
    e.loop(place.keyBegin + start, place.keyEnd, stride, [&](Index key) {
      // Keys after the last are zeros and have no entry.
      Index entry = place.masked ? maxOf(0, distance - key) : distance - key;
      for (int64_t v = 0; v < context.cpu.queryVectors; ++v) {
        Index to = base + entry + Index(v * e.lanes);
        e.storeVector(e.add(e.loadVector(memory, to), at(key, v)), memory, to);
      }
    });
  });
}

void mlir::tile::cpu::emitWindowGrad(StageContext &context, StripValues &values, const Slots &slots,
                                     WindowGradOp grad) {
  Emitter &e = context.e;
  const StripPlace &place = values.getPlace();
  emitDiagonalSums(context, place, grad.getTable(), [&](Index key, int64_t v) {
    return e.loadVector(slots.getMemory(), slots.at(grad.getValue(), key, Index(v * e.lanes)));
  });
}
