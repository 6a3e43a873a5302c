//===- Emitter.h - a builder for vector and scf code ----------------------===//
//
// `Emitter` is a builder with the few operations of kernels: vectors of `lanes` f32,
// one-dimensional memrefs, and counted loops that carry values. Arithmetic on `Index` reuses
// earlier results.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOCPU_EMITTER_H
#define PE_PASSES_TOCPU_EMITTER_H

#include "dialect/FloatBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Scalar/FoldedInteger.h"

namespace mlir::tile::cpu {

class Emitter;

/// An index: an SSA value plus a constant.
using Index = FoldedInteger<Emitter>;

using LoopBody = llvm::function_ref<SmallVector<Value>(Index, ValueRange)>;

/// A builder that emits kernel code into a function.
class Emitter : public FloatBuilder {
public:
  /// Emits into `function`, whose entry block exists.
  Emitter(Location loc, func::FuncOp function, int64_t lanes);

  const int64_t lanes;

  //===- Types and constants; constants are at the function's entry ------------===//
  VectorType vectorType(Type element = {}, int64_t width = 0);
  Value constant(TypedAttr attr);
  Value number(double value) { return constant(getF32FloatAttr(value)); }
  Value splat(double value);
  Value splatInt(int32_t value);
  /// Returns the i32 vector 0, 1, 2, ....
  Value iota();
  Value toValue(const Index &index);
  /// Returns `OpTy` on two index values, or an earlier result of it that dominates the insertion
  /// point.
  template <typename OpTy> Value binary(Value a, Value b);
  static constexpr bool kSharesProducts = true;
  Index fromValue(Value value) { return Index(*this, value); }
  /// Returns the index in every lane, as i32.
  Value splatIndex(const Index &index);
  Value broadcast(Value scalar, int64_t width = 0);

  //===- Memory: one-dimensional memrefs ------------------------------------------===//
  // Loads extend bf16 and f16 to f32, and stores round f32 to them, to nearest even.
  /// Allocates `floats` elements on the stack at the function's entry, 64-byte aligned.
  Value scratch(int64_t floats, Type element = {});
  Value load(Value memory, const Index &at);
  void store(Value value, Value memory, const Index &at);
  Value loadVector(Value memory, const Index &at, int64_t width = 0);
  void storeVector(Value value, Value memory, const Index &at);
  /// Starts to read the cache line of an element into the second-level cache.
  void prefetch(Value memory, const Index &at);
  /// Load or store only the lanes of `laneMask`; the others load as zero.
  Value loadLanes(Value memory, const Index &at, Value laneMask);
  void storeLanes(Value value, Value memory, const Index &at, Value laneMask);
  /// Returns the mask of the lanes below `count`.
  Value laneMask(const Index &count);

  //===- Pairs of bf16 in 32-bit words, which memory and registers hold as f32 -----===//
  /// Rounds a vector of f32 to bf16.
  Value toBf16(Value vector);
  /// Returns the words of pairs of consecutive lanes of a vector of bf16.
  Value wordsOf(Value narrow);
  /// Returns the words whose low halves are `low` and whose high halves are `high`, of bf16.
  Value pairs(Value low, Value high);
  /// Loads the pair of elements at `at` and the next place of a memory of bf16.
  Value loadPair(Value memory, const Index &at);
  /// Returns the sums plus the products of both halves of each word.
  Value addPairProducts(Value sums, Value a, Value b);
  /// Returns the words with zero halves where a condition is false: an i1, or a vector of i1.
  Value keepHalves(Value words, Value low, Value high);

  //===- Arithmetic ---------------------------------------------------------------===//
  /// Return the larger or smaller of two values in one instruction, or `b` if one of them is NaN.
  Value larger(Value a, Value b);
  Value smaller(Value a, Value b);
  Value fma(Value a, Value b, Value c);
  using FloatBuilder::compare;
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return create<arith::CmpIOp>(predicate, a, b);
  }
  /// Return the sum or the maximum of a vector's lanes.
  Value sumLanes(Value vector);
  Value maxLanes(Value vector);
  Value less(const Index &a, const Index &b);
  /// Compares an f32, or a vector of f32, with zero.
  Value isNotZero(Value x) {
    Value zero = create<arith::ConstantOp>(getZeroAttr(x.getType()));
    return compare(arith::CmpFPredicate::UNE, x, zero);
  }

  //===- Control -------------------------------------------------------------------===//
  SmallVector<Value> loop(const Index &begin, const Index &end, const Index &step, ValueRange inits,
                          LoopBody body);
  void loop(const Index &begin, const Index &end, const Index &step,
            llvm::function_ref<void(Index)> body);
  /// Returns the values of `then` if the condition is true, otherwise `others`.
  SmallVector<Value> chosen(Value condition, llvm::function_ref<SmallVector<Value>()> then,
                            ValueRange others);
  void ifThen(Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = nullptr);

private:
  Value widened(Value value);
  Value roundedFor(Value value, Value memory);

  func::FuncOp function;
  llvm::DenseMap<Attribute, Value> constants;
  llvm::DenseMap<std::tuple<const void *, Value, Value>, Value> indexOps;
};

/// Reuses an earlier result from this block or an enclosing one. It dominates, because code is
/// always emitted at the end of its block.
template <typename OpTy> Value Emitter::binary(Value a, Value b) {
  Value &known = indexOps[{OpTy::getOperationName().data(), a, b}];
  if (known) {
    for (Block *block = getInsertionBlock(); block;
         block = block->getParentOp() ? block->getParentOp()->getBlock() : nullptr)
      if (known.getParentBlock() == block)
        return known;
  }
  return known = create<OpTy>(a, b);
}

} // namespace mlir::tile::cpu

#endif // PE_PASSES_TOCPU_EMITTER_H
