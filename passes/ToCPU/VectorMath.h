//===- VectorMath.h - exp2 and transposition in registers -----------------===//
#ifndef PE_PASSES_TOCPU_VECTORMATH_H
#define PE_PASSES_TOCPU_VECTORMATH_H

#include "passes/Schedule/CpuSchedule.h"
#include "passes/ToCPU/Emitter.h"

namespace mlir::tile::cpu {

/// 2^x with a relative error of 2e-7 for x in [-126, 127.49]; 0 for x <= -127, and the value at
/// 127.49 above that. NaN stays NaN.
Value emitExp2(Emitter &e, Exp2Flavour flavour, Value x);
/// The same for x <= 127 or NaN.
Value emitExp2Below127(Emitter &e, Exp2Flavour flavour, Value x);
/// e^x, with the same accuracy.
Value emitExp(Emitter &e, Exp2Flavour flavour, Value x);

/// `rows` are `lanes` vectors of `lanes` elements: returns the columns. log2(lanes) rounds of block
/// exchanges (Eklundh 1972), which LLVM turns into unpack and permute instructions.
SmallVector<Value> emitTranspose(Emitter &e, ArrayRef<Value> rows);

/// A vector of `width` elements, widened to the target's lanes; the rest is undefined.
Value loadWidened(Emitter &e, Value memory, const Index &at, int64_t width);
/// The first `width` elements.
Value narrowed(Emitter &e, Value wide, int64_t width);

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_VECTORMATH_H
