//===- StageFunction.h - the function of a lowered stage ------------------===//
//
// Every lowering of the tile dialect produces the same interface (dialect/Tile/README.md): a
// `func.func` with one `memref<1xT>` per buffer, the frame `memref<Nxi64>` and an `index` work
// item, and a `tile.launch` in the plan. A StageFunction is that function under construction: at
// the entry it loads the words of the frame and computes the extents of every buffer, so that the
// body can refer to them by name:
//
//   StageFunction function(stage, "", collectBuffers(stage));
//   OpBuilder builder = function.getBodyBuilder();
//   SmallVector<Value> bh = function.decomposeItem(builder, loc, {"b", "hq"});
//   Value q = function.getView(buffer);                  // memref<?x?x?x64xf32, strided<...>>
//   ... emit loops with `builder` ...
//   function.createLaunch(stage, "b*hq");
//   stage.erase();
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOLOOPS_STAGEFUNCTION_H
#define PE_PASSES_TOLOOPS_STAGEFUNCTION_H

#include "dialect/Tile/SizeNames.h"
#include "dialect/Tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::tile {

/// Returns the buffers that `stage` uses, in the order of their declaration.
SmallVector<Value> collectBuffers(StageOp stage);

/// The function of a stage and the values at its entry.
class StageFunction {
public:
  /// Creates `PLAN_STAGE` + `suffix` (made unique) in the module, before the plan. Its entry
  /// computes sizes and views; its body is empty. The verifier must have accepted the extents.
  StageFunction(StageOp stage, StringRef suffix, ArrayRef<Value> buffers);

  func::FuncOp getFunction() const { return function; }
  Location getLoc() const { return function.getLoc(); }
  /// Returns a builder that inserts before the function's return.
  OpBuilder getBodyBuilder() const;
  /// Returns a builder that inserts at the start of the entry block, for allocas and constants.
  OpBuilder getEntryBuilder() const;

  /// Returns a buffer as a memref with its extents; `d`, `e` and integers are static, others
  /// dynamic.
  Value getView(Value buffer) const { return views.lookup(buffer); }
  /// Returns the extents as index values, one per dimension.
  ArrayRef<Value> getExtents(Value buffer) const { return extents.find(buffer)->second; }
  /// Returns the strides in elements, one per dimension; the last is 1.
  ArrayRef<Value> getStrides(Value buffer) const { return strides.find(buffer)->second; }
  ArrayRef<Value> getBuffers() const { return buffers; }
  Value getItem() const { return item; }
  /// Makes subsequent views of `buffer` refer, if `isCopy` is true, to the copy that begins at
  /// element `first` of `copies`, a buffer of copies with one more leading extent.
  void useCopy(OpBuilder &builder, Value buffer, Value copies, Value isCopy, Value first);
  /// Returns the memory of a `tile.scratch`, allocated at the entry and shared by all its
  /// evaluations.
  Value getScratch(ScratchOp scratch) const;
  PlanOp getPlan() const { return plan; }

  /// Emits the value of a size expression as an index.
  Value emitSize(OpBuilder &builder, Location loc, StringRef expression) const;

  /// Emits the indices of the work item, one per extent; the last one varies fastest.
  SmallVector<Value> decomposeItem(OpBuilder &builder, Location loc,
                                   ArrayRef<StringRef> extents) const {
    return decompose(builder, loc, item, extents);
  }
  /// Emits the indices of a linear index `number`, one per extent.
  SmallVector<Value> decompose(OpBuilder &builder, Location loc, Value number,
                               ArrayRef<StringRef> extents) const;

  /// Creates the `tile.launch` of this function before `stage`. `items` is a size expression.
  LaunchOp createLaunch(StageOp stage, StringRef items) const;

private:
  bool isUsed(StringRef name) const;
  void loadFrame(OpBuilder &builder, ArrayRef<::pe::plan::FrameWord> frame, Value array);
  void bindBuffer(OpBuilder &builder, Value buffer, Value argument);
  void bindView(OpBuilder &builder, Value buffer, Value argument, OpFoldResult first,
                SmallVector<Value> values, SmallVector<Value> pitches);

  // Handles; their accessors are not const.
  mutable PlanOp plan;
  mutable func::FuncOp function;
  SmallVector<Value> buffers;
  llvm::StringMap<Value> sizes;
  llvm::StringMap<SmallVector<Value>> givenStrides; // words of the frame, by buffer
  DenseMap<Value, Value> views;
  DenseMap<Value, SmallVector<Value>> extents, strides;
  Value item;
  mutable DenseMap<Operation *, Value> scratches;
};

/// Returns the product of the extents as a size expression of the plan ("1" if there are none).
std::string productOfExtents(ArrayRef<StringRef> extents);

/// Returns the strings of an array attribute.
SmallVector<StringRef> getStrings(ArrayAttr attribute);

/// Clones the operations of `block` except its terminator, also inside nested regions, with
/// `tile.read`, `tile.write`, `tile.accumulate` and `tile.size` as memory operations. `mapping`
/// holds the block's arguments; constants from outside are cloned at the function's entry. Returns
/// the values that the terminator yields.
SmallVector<Value> emitScalarBlock(OpBuilder &builder, Block &block, IRMapping &mapping,
                                   const StageFunction &function);

/// Returns the sum, maximum or minimum of two values of one type. If one of them is NaN, the
/// maximum and minimum are the other.
Value emitReduction(OpBuilder &builder, Location loc, Reduction kind, Value a, Value b);

/// Combines `value` with one element of `memory` by `kind`, in the element's type.
void emitAccumulation(OpBuilder &builder, Location loc, Value value, Value memory,
                      ValueRange indices, Reduction kind = Reduction::Add);

/// Returns the emitted form of a value of scalar code. A value from outside of that code, such as a
/// hoisted constant or a size, is emitted again.
Value lookUpScalar(OpBuilder &builder, Value value, const IRMapping &mapping,
                   const StageFunction &function);

/// Clamps `index` to [0, extent).
Value clampIndex(OpBuilder &builder, Location loc, Value index, Value extent);

/// Clones one operation as emitScalarBlock does.
void emitScalarOp(OpBuilder &builder, Operation &op, IRMapping &mapping,
                  const StageFunction &function);

} // namespace mlir::tile

#endif // PE_PASSES_TOLOOPS_STAGEFUNCTION_H
