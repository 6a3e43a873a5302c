//===- KernelFunction.h - the kernel that a stage becomes -----------------===//
//
// A kernel is an `llvm.func` in `gpu.module @kernels`: one pointer per buffer, then the words of
// the call's frame that it uses (strides as i64, others as i32), whose places its attribute
// `pe.frame_words` lists; its grid is
// one-dimensional, a CTA is a work item. A KernelFunction is that function while its body is
// written: names instead of numbers for sizes, addresses from the names of a buffer's extents.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_KERNELFUNCTION_H
#define PE_PASSES_TOGPU_KERNELFUNCTION_H

#include "dialect/Tile/Place.h"
#include "dialect/Tile/Tile.h"
#include "passes/ToGPU/KernelBuilder.h"

#include "llvm/ADT/StringMap.h"

namespace mlir::tile::gpu {

/// A buffer PLAN_STAGE + `name` of the plan that one stage needs for itself.
Value addTemporary(StageOp stage, const Twine &name, ArrayRef<std::string> extents, Type element,
                   bool zero);

/// A `tile.foreach` over the extents of a buffer; `builder` is left in its body. Its indices.
SmallVector<Value> addElementLoop(OpBuilder &builder, Location loc, Value buffer);

using Place = PlaceOf<Num>;

class KernelFunction {
public:
  static constexpr llvm::StringLiteral kModule = "kernels";
  static constexpr llvm::StringLiteral kShared = "pe_shared";

  /// Creates `PLAN_STAGE` + `suffix` in the module's @kernels; its body is empty. `builder` is left
  /// at the body.
  KernelFunction(StageOp stage, StringRef suffix, ArrayRef<Value> buffers, int64_t threads,
                 KernelBuilder &builder);

  KernelBuilder &b;
  const int64_t headDim, valueDim, threads;

  /// The value of a size expression.
  Num size(StringRef expression);
  /// The product of size expressions, as an i64: one extent fits in 32 bits, all of them need not.
  Value wideProduct(ArrayRef<StringRef> expressions);
  ArrayRef<Value> getBuffers() const { return buffers; }
  Value pointer(Value buffer) const;
  /// Extents of a buffer, one per dimension.
  SmallVector<Num> extents(Value buffer);
  /// The address of the element at `place`, with d and e at zero.
  Value address(Value buffer, const Place &place);
  /// The address of the element at explicit indices.
  Value address(Value buffer, ArrayRef<Num> indices);
  /// Elements from a row of the buffer to the next.
  Num rowPitch(Value buffer);
  /// The base of dynamic shared memory.
  Value shared();

  /// A function without result that kernels call, from the device library.
  LLVM::LLVMFuncOp declare(StringRef name, ArrayRef<Type> arguments);

  /// Finishes the kernel and writes its tile.launch before `stage`.
  LaunchOp finish(StageOp stage, StringRef items, int64_t sharedBytes);

private:
  /// The strides that are words of the frame: none, or all but the last.
  ArrayRef<Value> stridesOf(Value buffer) const;
  Value addressOf(Value buffer, ArrayRef<std::optional<Num>> indices);
  /// Removes the arguments of words that the body does not use; the places of the others.
  SmallVector<int32_t> dropUnusedWords();
  PlanOp plan;
  LLVM::LLVMFuncOp function;
  SmallVector<Value> buffers;
  llvm::StringMap<Num> sizes;
  llvm::StringMap<SmallVector<Value>> strides; // words of the frame, by buffer
  Value sharedBase;
};

} // namespace mlir::tile::gpu

#endif // PE_PASSES_TOGPU_KERNELFUNCTION_H
