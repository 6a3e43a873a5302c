//===- VectorMath.h - exp2 and transposition in registers -----------------===//
#ifndef PE_PASSES_TOCPU_VECTORMATH_H
#define PE_PASSES_TOCPU_VECTORMATH_H

#include "dialect/Step/CpuSchedule.h"
#include "passes/ToCPU/Emitter.h"

namespace mlir::tile::cpu {

/// Returns 2^x with a relative error of 2e-7 for x in [-126, 127.49]; 0 for x <= -127, and the
/// value at 127.49 for larger x. NaN stays NaN.
Value emitExp2(Emitter &e, Exp2Flavour flavour, Value x);
/// Returns 2^x for x <= 127 or NaN.
Value emitExp2Below127(Emitter &e, Exp2Flavour flavour, Value x);
/// Returns e^x, with the same accuracy.
Value emitExp(Emitter &e, Exp2Flavour flavour, Value x);

/// Transposes `lanes` vectors of `lanes` elements: log2(lanes) rounds of block exchanges (Eklundh
/// 1972), which LLVM lowers to unpack and permute instructions.
SmallVector<Value> emitTranspose(Emitter &e, ArrayRef<Value> rows);

/// Computes a vector whose lane i is the sum of the lanes of vector i, for `lanes` vectors: rounds
/// that add halves of pairs of vectors, in an order of additions that is the same for every lane.
/// A pair is added as soon as both vectors exist, so that few are live at the same time.
class SumsOfLanes {
public:
  explicit SumsOfLanes(Emitter &e) : e(e) {}
  void add(Value vector);
  /// Returns the sums, after `lanes` vectors.
  Value get() const { return pending.front().second; }

private:
  Value addHalves(Value x, Value y, int64_t round);

  Emitter &e;
  SmallVector<std::pair<int64_t, Value>> pending; // the next round of each vector
};
Value emitSumsOfLanes(Emitter &e, ArrayRef<Value> vectors);

/// Returns the largest lane, in log2(lanes) rounds. A NaN may be ignored.
Value emitMaxOfLanes(Emitter &e, Value vector);

/// Loads the entries of a table of distances for `lanes` keys, the first of which has the entry
/// `first` and each later one the entry before. With `checks`, lanes with negative entries are 0.
Value loadDistances(Emitter &e, Value table, const Index &base, const Index &first, bool checks);

/// Loads `width` elements as a vector of the target's lanes; the remaining lanes are unspecified.
Value loadWidened(Emitter &e, Value memory, const Index &at, int64_t width);
/// Returns the first `width` elements.
Value narrowed(Emitter &e, Value wide, int64_t width);

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_VECTORMATH_H
