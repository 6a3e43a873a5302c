//===- MicroKernels.cpp - the register tile of all contractions -----------===//
#include "passes/ToCPU/MicroKernels.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tile::cpu;

namespace {

Value addProduct(Emitter &e, const TileShape &shape, Value a, Value b, Value sum) {
  return shape.pairs ? e.addPairProducts(sum, a, b) : e.fma(a, b, sum);
}

SmallVector<Value> emitStep(Emitter &e, const TileShape &shape, const Index &t, ValueRange acc,
                            TileOperand vector, TileRow row) {
  SmallVector<Value> vectors, next;
  for (int64_t n = 0; n < shape.vectors; ++n)
    vectors.push_back(vector(t, n));
  for (int64_t m = 0; m < shape.rows; ++m) {
    SmallVector<Value> factors = row(t, m);
    for (int64_t n = 0; n < shape.vectors; ++n)
      next.push_back(addProduct(e, shape, vectors[n], factors[n], acc[m * shape.vectors + n]));
  }
  return next;
}

/// Returns true (an i1) if any lane of any value is NaN. Each comparison tests two values.
Value isAnyNaN(Emitter &e, ArrayRef<Value> values) {
  Value any;
  for (size_t n = 0; n < values.size(); n += 2) {
    Value other = values[std::min(n + 1, values.size() - 1)];
    Value isNaN = e.create<arith::CmpFOp>(arith::CmpFPredicate::UNO, values[n], other);
    any = any ? e.create<arith::OrIOp>(any, isNaN).getResult() : isNaN;
  }
  return e.create<vector::ReductionOp>(vector::CombiningKind::OR, any);
}

} // namespace

SmallVector<Value> mlir::tile::cpu::emitTileProduct(Emitter &e, const TileShape &shape,
                                                    const Index &begin, const Index &end,
                                                    ValueRange acc, TileOperand vector,
                                                    TileOperand scalar) {
  return emitTileProductOfRows(e, shape, begin, end, acc, vector, [&](Index t, int64_t m) {
    return SmallVector<Value>(shape.vectors, e.broadcast(scalar(t, m), shape.width));
  });
}

SmallVector<Value> mlir::tile::cpu::emitTileProductOfRows(Emitter &e, const TileShape &shape,
                                                          const Index &begin, const Index &end,
                                                          ValueRange acc, TileOperand vector,
                                                          TileRow row) {
  SmallVector<Value> values(acc);
  auto steps = [&](const Index &from, const Index &to, int64_t unroll) {
    values = e.loop(from, to, unroll, values, [&](Index t, ValueRange args) {
      SmallVector<Value> current(args);
      for (int64_t u = 0; u < unroll; ++u)
        current = emitStep(e, shape, t + u, current, vector, row);
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

SmallVector<Value> mlir::tile::cpu::emitTileProductOfPairs(Emitter &e, const TileShape &shape,
                                                           const Index &begin, const Index &end,
                                                           ValueRange acc, TileOperand vector,
                                                           TileOperand scalar,
                                                           TileCondition counts) {
  auto row = [&](Index t, int64_t m) {
    return SmallVector<Value>(shape.vectors, e.broadcast(scalar(t, m), shape.width));
  };
  return emitTileProductOfRowsAndPairs(e, shape, begin, end, acc, vector, row, counts);
}

SmallVector<Value> mlir::tile::cpu::emitTileProductOfRowsAndPairs(
    Emitter &e, const TileShape &shape, const Index &begin, const Index &end, ValueRange acc,
    TileOperand vector, TileRow row, TileCondition counts) {
  SmallVector<Value> values = emitTileProductOfRows(e, shape, begin, end, acc, vector, row);
  auto branch = e.create<scf::IfOp>(ValueRange(values).getTypes(), isAnyNaN(e, values),
                                    /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(branch.thenBlock());
  Value zero = e.create<arith::ConstantOp>(e.getZeroAttr(values.front().getType()));
  SmallVector<Value> careful = e.loop(begin, end, 1, acc, [&](Index t, ValueRange args) {
    SmallVector<Value> next(args);
    for (auto [at, sum] : llvm::enumerate(next)) {
      const int64_t m = at / shape.vectors, n = at % shape.vectors;
      Value left = vector(t, n), right = row(t, m)[n];
      if (shape.pairs) {
        const Index first = t * Index(2);
        Value low = counts(first, m, n), high = counts(first + Index(1), m, n);
        left = e.keepHalves(left, low, high), right = e.keepHalves(right, low, high);
      } else {
        Value condition = counts(t, m, n);
        left = e.select(condition, left, zero), right = e.select(condition, right, zero);
      }
      sum = addProduct(e, shape, left, right, sum);
    }
    return next;
  });
  e.create<scf::YieldOp>(careful);
  e.setInsertionPointToStart(branch.elseBlock());
  e.create<scf::YieldOp>(values);
  return SmallVector<Value>(branch.getResults());
}
