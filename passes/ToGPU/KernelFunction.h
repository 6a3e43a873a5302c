//===- KernelFunction.h - the kernel of a lowered stage -------------------===//
//
// A kernel is an `llvm.func` in `gpu.module @kernels`. Its arguments are one pointer per buffer,
// then the words of the call's frame that it uses (strides as i64, others as i32), whose indices
// are the `words` of its launch. Its grid is one-dimensional, and each CTA is a work item. A
// KernelFunction is that function under construction: it refers to sizes by name and computes
// addresses from the names of a buffer's extents.
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOGPU_KERNELFUNCTION_H
#define PE_PASSES_TOGPU_KERNELFUNCTION_H

#include "dialect/Tile/Place.h"
#include "dialect/Tile/Tile.h"
#include "passes/ToGPU/KernelBuilder.h"

#include "llvm/ADT/StringMap.h"

namespace mlir::tile::gpu {

/// Adds a buffer PLAN_STAGE + `name` to the plan, before the stage that uses it first.
Value addTemporary(StageOp stage, const Twine &name, ArrayRef<std::string> extents, Type element,
                   bool zero, SlotsAttr slots = {});

/// Adds an empty stage of the phase of `stage` at the builder's insertion point, named after it,
/// and moves `builder` to its body.
void enterStage(OpBuilder &builder, StageOp stage, const Twine &suffix);

/// Adds a `tile.foreach` over the extents of a buffer, moves `builder` to its body and returns the
/// indices.
SmallVector<Value> addElementLoop(OpBuilder &builder, Location loc, Value buffer);

using Place = PlaceOf<Num>;

/// The kernel of a stage and the values at its entry.
class KernelFunction {
public:
  static constexpr llvm::StringLiteral kModule = "kernels";
  static constexpr llvm::StringLiteral kShared = "pe_shared";

  /// Creates `PLAN_STAGE` + `suffix` in the module's @kernels, with an empty body, and moves
  /// `builder` to the body.
  KernelFunction(StageOp stage, StringRef suffix, ArrayRef<Value> buffers, int64_t threads,
                 KernelBuilder &builder);

  KernelBuilder &b;
  const int64_t headDim, valueDim, threads;

  /// Returns the value of a size expression.
  Num size(StringRef expression);
  /// Returns the product of size expressions as an i64: one extent fits in 32 bits, a product may
  /// not.
  Value wideProduct(ArrayRef<StringRef> expressions);
  ArrayRef<Value> getBuffers() const { return buffers; }
  Value pointer(Value buffer) const;
  /// Returns the extents of a buffer, one per dimension.
  SmallVector<Num> extents(Value buffer);
  /// Returns the address of the element at `place`, with d and e at zero.
  Value address(Value buffer, const Place &place);
  /// Returns the address of the element at explicit indices.
  Value address(Value buffer, ArrayRef<Num> indices);
  /// Returns the distance between consecutive rows of the buffer, in elements.
  Num rowPitch(Value buffer);
  /// Returns the base of dynamic shared memory.
  Value shared();

  /// Declares a function of the device library without a result.
  LLVM::LLVMFuncOp declare(StringRef name, ArrayRef<Type> arguments);

  /// Completes the kernel and creates its tile.launch before `stage`.
  LaunchOp finish(StageOp stage, StringRef items, int64_t sharedBytes);

private:
  /// Returns the strides that are words of the frame: none, or all except the last.
  ArrayRef<Value> stridesOf(Value buffer) const;
  Value addressOf(Value buffer, ArrayRef<std::optional<Num>> indices);
  /// Removes the arguments of unused words; returns the indices of the others.
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
