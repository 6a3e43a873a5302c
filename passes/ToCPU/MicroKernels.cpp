//===- MicroKernels.cpp - the register tile all contractions are made of --===//
#include "passes/ToCPU/MicroKernels.h"

using namespace mlir;
using namespace mlir::tile::cpu;

namespace {

SmallVector<Value> emitStep(Emitter &e, const TileShape &shape, const Index &t, ValueRange acc,
                            TileOperand vector, TileOperand scalar) {
  SmallVector<Value> vectors, next;
  for (int64_t n = 0; n < shape.vectors; ++n)
    vectors.push_back(vector(t, n));
  for (int64_t m = 0; m < shape.rows; ++m) {
    Value factor = e.broadcast(scalar(t, m), shape.width);
    for (int64_t n = 0; n < shape.vectors; ++n)
      next.push_back(e.fma(vectors[n], factor, acc[m * shape.vectors + n]));
  }
  return next;
}

} // namespace

SmallVector<Value> mlir::tile::cpu::emitTileProduct(Emitter &e, const TileShape &shape,
                                                    const Index &begin, const Index &end,
                                                    ValueRange acc, TileOperand vector,
                                                    TileOperand scalar) {
  SmallVector<Value> values(acc);
  auto steps = [&](const Index &from, const Index &to, int64_t unroll) {
    values = e.loop(from, to, unroll, values, [&](Index t, ValueRange args) {
      SmallVector<Value> current(args);
      for (int64_t u = 0; u < unroll; ++u)
        current = emitStep(e, shape, t + u, current, vector, scalar);
      return current;
    });
  };
  Index count = end - begin;
  if (shape.unroll == 1 || (count.isConstant() && count.getConstant() % shape.unroll == 0)) {
    steps(begin, end, shape.unroll);
    return values;
  }
  Index middle = begin + roundDown(count, shape.unroll);
  steps(begin, middle, shape.unroll);
  steps(middle, end, 1);
  return values;
}
