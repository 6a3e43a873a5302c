//===- KernelBuilder.h - a builder for GPU kernels ------------------------===//
//
// `KernelBuilder` is a builder with the few operations of kernels: special registers, shared and
// global memory by byte offsets of 32 bits, asynchronous copies, matrix fragments, shuffles,
// barriers, and counted loops that carry values. It creates only operations that the translation to
// PTX supports.
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_KERNELBUILDER_H
#define PE_PASSES_TOGPU_KERNELBUILDER_H

#include "dialect/FloatBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "passes/Scalar/FoldedInteger.h"

namespace mlir::tile::gpu {

class KernelBuilder;

/// An i32 value of the kernel plus a constant.
using Num = FoldedInteger<KernelBuilder>;

/// A value of the tile dialect as one thread holds it.
using Registers = SmallVector<Value>;
using LoopBody = llvm::function_ref<SmallVector<Value>(Num, ValueRange)>;

/// A builder that emits kernel code.
class KernelBuilder : public FloatBuilder {
public:
  using FloatBuilder::FloatBuilder;

  //===- Types ------------------------------------------------------------------===//
  Type i32() { return getI32Type(); }
  Type f32() { return getF32Type(); }
  Type globalPointer() { return LLVM::LLVMPointerType::get(getContext(), 1); }
  Type sharedPointer() { return LLVM::LLVMPointerType::get(getContext(), 3); }

  //===- Numbers ------------------------------------------------------------------===//
  Value integer(int64_t value) { return create<arith::ConstantOp>(getI32IntegerAttr(value)); }
  Value toValue(const Num &number);
  template <typename OpTy> Value binary(Value a, Value b) { return createOrFold<OpTy>(a, b); }
  static constexpr bool kSharesProducts = false;
  Num fromValue(Value value) { return Num(*this, value); }
  /// Returns the value as an i64.
  Value wide(const Num &number);

  Value fma(Value a, Value b, Value c) { return create<LLVM::FMAOp>(a, b, c); }
  using FloatBuilder::compare;
  Value compare(arith::CmpIPredicate predicate, const Num &a, const Num &b) {
    return create<arith::CmpIOp>(predicate, toValue(a), toValue(b));
  }
  Value less(const Num &a, const Num &b) { return compare(arith::CmpIPredicate::slt, a, b); }
  Value both(Value a, Value b) { return create<arith::AndIOp>(a, b); }
  Num pick(Value condition, const Num &a, const Num &b) {
    return fromValue(select(condition, toValue(a), toValue(b)));
  }
  /// Compute 2^x, log2 x and 1/x on the special function unit, with a relative error of about
  /// 2^-22. Subnormals become zero.
  Value exp2(Value x) { return special("llvm.nvvm.ex2.approx.ftz.f", x); }
  Value log2(Value x) { return special("llvm.nvvm.lg2.approx.ftz.f", x); }
  Value reciprocal(Value x) { return special("llvm.nvvm.rcp.approx.ftz.f", x); }

  //===- Position of the thread -----------------------------------------------------===//
  Num threadIndex();
  Num blockIndex();

  //===- Memory: a pointer and an offset in bytes ----------------------------------===//
  Value global(Value base, const Num &bytes) { return at(base, globalPointer(), bytes); }
  Value shared(Value base, const Num &bytes) { return at(base, sharedPointer(), bytes); }
  /// Returns `base` plus a 64-bit offset in bytes.
  Value moved(Value base, Value bytes);
  Value load(Type type, Value pointer, unsigned alignment = 0);
  void store(Value value, Value pointer, unsigned alignment = 0);
  /// Load and store consecutive words (f32 or i32) at a multiple of their size, in one access.
  Registers loadVector(int64_t count, Value pointer) { return loadVector(count, pointer, f32()); }
  Registers loadVector(int64_t count, Value pointer, Type element);
  void storeVector(ArrayRef<Value> values, Value pointer);
  /// Atomically adds one to the i32 in global memory, for the entire device; returns its old value.
  Value countUp(Value pointer);
  /// Copies 16 (or 4) bytes to shared memory, or zeros if `exists` is false.
  void copyAsync(Value sharedTo, Value globalFrom, Value exists, int64_t bytes = 16);
  void commitCopies() { create<NVVM::CpAsyncCommitGroupOp>(); }
  void waitForCopies(int groupsLeft) { create<NVVM::CpAsyncWaitGroupOp>(groupsLeft); }

  //===- Cooperation -----------------------------------------------------------------===//
  void barrier() { create<NVVM::BarrierOp>(); }
  /// Is a barrier, and returns true (an i1) in all threads of the CTA if the condition holds in one
  /// of them.
  Value barrierAny(Value condition);
  void syncWarp();
  Value shuffleXor(Value value, int mask);
  /// Reduce over the lanes of the warp; all lanes get the result. They use redux.sync on integers,
  /// which orders floating-point values correctly if their bits are mapped accordingly.
  Value warpSum(Value i32);
  Value warpMin(Value f32) { return warpExtreme(f32, NVVM::ReduxKind::MIN); }
  Value warpMax(Value f32) { return warpExtreme(f32, NVVM::ReduxKind::MAX); }
  /// Returns true (an i1) in all lanes of the warp if the condition holds in one of them.
  Value warpAny(Value condition);
  /// Returns the value of lane `lane` of the warp.
  Value shuffleFrom(Value value, const Num &lane);
  /// Loads four 8 x 8 matrices of 16-bit elements; each lane passes the address of one row of 16
  /// bytes.
  SmallVector<Value> loadMatrices(Value pointer, bool transposed);
  /// Emits one mma.sync with f32 accumulation: m16n8k16 for 16-bit elements, two per register, or
  /// m16n8k8 for tf32.
  SmallVector<Value> mma(Type element, ArrayRef<Value> a, ArrayRef<Value> b, ArrayRef<Value> c);
  /// Packs two 16-bit elements in one register, `low` in the lower half.
  Value pack(Value low, Value high);
  /// Rounds an f32 to tf32, as an f32: to nearest, ties away from zero.
  Value roundToTf32(Value x);
  /// Rounds two f32 to `element` and packs them.
  Value roundAndPack(Type element, Value low, Value high);
  SmallVector<Value> unpack(Value packed, Type element);

  //===- Control ------------------------------------------------------------------------===//
  SmallVector<Value> loop(const Num &begin, const Num &end, const Num &step, ValueRange inits,
                          LoopBody body);
  void loop(const Num &begin, const Num &end, const Num &step, llvm::function_ref<void(Num)> body);
  void ifThen(Value condition, llvm::function_ref<void()> then);
  SmallVector<Value> ifElse(Value condition, TypeRange types,
                            llvm::function_ref<SmallVector<Value>()> then,
                            llvm::function_ref<SmallVector<Value>()> otherwise);

private:
  Value special(StringRef intrinsic, Value x);
  Value warpExtreme(Value f32, NVVM::ReduxKind kind);
  Value at(Value base, Type type, const Num &bytes);
  Value shuffle(Value value, Value lane, NVVM::ShflKind kind);
};

/// Gives the code that a builder emits the location of a tile op, for its lifetime. Line tables
/// (pe-locate-tile-ops) attribute instructions to the ops by it.
class LocationScope {
public:
  LocationScope(KernelBuilder &builder, Location location)
      : builder(builder), outer(builder.getLoc()) {
    builder.setLoc(location);
  }
  ~LocationScope() { builder.setLoc(outer); }
  LocationScope(const LocationScope &) = delete;
  LocationScope &operator=(const LocationScope &) = delete;

private:
  KernelBuilder &builder;
  const Location outer;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_KERNELBUILDER_H
