//===- TokenDropout.cpp - dropout of embedded tokens ----------------------===//
#include "passes/ToTile/TokenDropout.h"

#include "passes/Scalar/Philox.h"

#include <cmath>

using namespace mlir;
using namespace mlir::tile;

Value TokenDropout::emit(Scalar &s, Value batch, Value row, Value dim) const {
  Type i64 = s.getI64Type();
  auto constant = [&](int64_t number) -> Value {
    return s.create<arith::ConstantOp>(s.getI64IntegerAttr(number));
  };
  auto wide = [&](Value index) -> Value { return s.create<arith::IndexCastOp>(i64, index); };
  const bool perBatch = cast<BufferType>(seed.getType()).getRank() == 1;
  Value key = readElement(s, seed, perBatch ? ValueRange(batch) : ValueRange());
  Value position = wide(s.add(row, s.size("q_start"))), d = wide(dim);
  Value group = s.create<arith::ShRUIOp>(d, constant(2));
  // Words are stored in 64-bit integers, whose upper halves are ignored, so that a loop over them
  // vectorizes.
  constexpr int64_t kNoHead = 0xffffffff;
  std::array<Value, 4> words =
      emitPhilox(s, {perBatch ? constant(0) : wide(batch), constant(kNoHead), position, group},
                 {key, s.create<arith::ShRUIOp>(key, constant(32))});
  Value number = s.create<arith::AndIOp>(d, constant(3)), word = words[0];
  for (int64_t n = 1; n < 4; ++n)
    word = s.select(s.create<arith::CmpIOp>(arith::CmpIPredicate::eq, number, constant(n)),
                    words[n], word);
  word = s.create<arith::AndIOp>(word, constant(0xffffffff));
  // A word is an integer, so `word >= p * 2^32` is `word >= ceil(p * 2^32)`.
  const auto least = static_cast<int64_t>(std::ceil(std::ldexp(probability, 32)));
  Value isKept = s.create<arith::CmpIOp>(arith::CmpIPredicate::uge, word, constant(least));
  return s.select(isKept, s.number(1.0 / (1.0 - probability)), s.number(0.0));
}
