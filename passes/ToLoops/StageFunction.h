//===- StageFunction.h - the function that a stage becomes ----------------===//
//
// Every lowering of the tile dialect ends at the same place (dialect/Tile/README.md): a `func.func`
// with one `memref<1xT>` per buffer, the frame `memref<Nxi64>` and an `index` work item, and a
// `tile.launch` in the plan. A StageFunction is that function under construction: it loads the
// frame's words and gives every buffer its extents once at the entry, so that the body can use
// names instead of indices:
//
//   StageFunction function(stage, "", collectBuffers(stage));
//   OpBuilder builder = function.getBodyBuilder();
//   SmallVector<Value> bh = function.decomposeItem(builder, loc, {"b", "hq"});
//   Value q = function.getView(buffer);                  // memref<?x?x?x64xf32, strided<...>>
//   ... write loops with `builder` ...
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

/// The buffers that `stage` uses, in the order of their declaration.
SmallVector<Value> collectBuffers(StageOp stage);

class StageFunction {
public:
  /// Creates `PLAN_STAGE` + `suffix` (made unique) in the module, before the plan. Sizes and views
  /// are at its entry, its body is empty. Extents must have passed the verifier.
  StageFunction(StageOp stage, StringRef suffix, ArrayRef<Value> buffers);

  func::FuncOp getFunction() const { return function; }
  Location getLoc() const { return function.getLoc(); }
  /// Before the function's return.
  OpBuilder getBodyBuilder() const;
  /// At the very beginning: for allocas and constants.
  OpBuilder getEntryBuilder() const;

  /// A buffer with its extents; `d`, `e` and integers are static, everything else dynamic.
  Value getView(Value buffer) const { return views.lookup(buffer); }
  /// The extents as index values, one per dimension.
  ArrayRef<Value> getExtents(Value buffer) const { return extents.find(buffer)->second; }
  /// Elements from one index to the next, per dimension; 1 for the last.
  ArrayRef<Value> getStrides(Value buffer) const { return strides.find(buffer)->second; }
  ArrayRef<Value> getBuffers() const { return buffers; }
  Value getItem() const { return item; }
  /// From the insertion point on, views of `buffer` refer, where `isCopy`, to one of its copies in
  /// `copies`, a buffer with one more leading extent: the copy that begins at element `first`.
  void useCopy(OpBuilder &builder, Value buffer, Value copies, Value isCopy, Value first);
  /// Memory of scalar code, allocated at the function's entry: evaluations follow one another.
  Value getScratch(ScratchOp scratch) const;
  PlanOp getPlan() const { return plan; }

  /// The value of a size expression, as an index.
  Value emitSize(OpBuilder &builder, Location loc, StringRef expression) const;

  /// The work item as one index per extent, the last one fastest.
  SmallVector<Value> decomposeItem(OpBuilder &builder, Location loc,
                                   ArrayRef<StringRef> extents) const {
    return decompose(builder, loc, item, extents);
  }
  /// The same of any number.
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

/// The product of the extents as a size expression of the plan ("1" for none).
std::string productOfExtents(ArrayRef<StringRef> extents);

/// The strings of an array attribute.
SmallVector<StringRef> getStrings(ArrayAttr attribute);

/// Clones the operations of `block` except its terminator, with `tile.read`, `tile.write`,
/// `tile.accumulate` and `tile.size` as memory operations, also inside nested regions. `mapping`
/// holds the block's arguments; constants from outside are cloned at the function's entry. Returns
/// the values that the terminator yields.
SmallVector<Value> emitScalarBlock(OpBuilder &builder, Block &block, IRMapping &mapping,
                                   const StageFunction &function);

/// The sum, the larger or the smaller of two numbers of one type; if one is NaN, the larger and the
/// smaller are the other one.
Value emitReduction(OpBuilder &builder, Location loc, Reduction kind, Value a, Value b);

/// Adds `value` to one element of `memory`, in the element's type, or combines them by `kind`.
void emitAccumulation(OpBuilder &builder, Location loc, Value value, Value memory,
                      ValueRange indices, Reduction kind = Reduction::Add);

/// The emitted value of one of scalar code. One that is defined outside of it (a hoisted constant,
/// a size) is emitted again.
Value lookUpScalar(OpBuilder &builder, Value value, const IRMapping &mapping,
                   const StageFunction &function);

/// `index`, clamped to [0, extent).
Value clampIndex(OpBuilder &builder, Location loc, Value index, Value extent);

/// emitScalarBlock for one operation.
void emitScalarOp(OpBuilder &builder, Operation &op, IRMapping &mapping,
                  const StageFunction &function);

} // namespace mlir::tile

#endif // PE_PASSES_TOLOOPS_STAGEFUNCTION_H
