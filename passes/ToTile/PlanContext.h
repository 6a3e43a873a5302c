//===- PlanContext.h - the plan being written ---===//
//
// The buffers of one entry function, and how scalar code accesses its parameters.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_PLANCONTEXT_H
#define PE_PASSES_TOTILE_PLANCONTEXT_H

#include "passes/ToTile/TileBuilder.h"
#include "passes/Transforms/ScalarEmitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::tile {

/// A captured tensor of the function: its buffer and, when gradients are wanted, the float64 sums
/// that finish stages add to.
struct Parameter {
  std::string name;
  Value buffer;
  Value gradient;     // the result that gets the gradient; null without gradients, and of integers
  Value gradientSums; // null without gradients, of integers, and where a stage writes the gradient
  Value absent;       // the argument that is read where the call leaves this one out, or null
  SmallVector<StringRef> extents() const;
};

/// The size that is 1 where a call gives argument `name`, which may be left out, and 0 otherwise.
std::string givenExtent(StringRef name);

struct PlanContext {
  TileBuilder plan; // at the end of the plan's body
  bool grad = false;
  bool earlyExit = true;
  int64_t headDim = 0, valueDim = 0;
  Type operands; // of what contractions multiply: the type of activations, or tf32
  llvm::MapVector<Value, Parameter> parameters; // by argument of the function

  Value buffer(const Twine &name, Role role, ArrayRef<StringRef> extents, Type element = {},
               bool zero = false);
  /// A tensor of the caller whose rows need not be contiguous.
  Value strided(const Twine &name, Role role, ArrayRef<StringRef> extents, Type element);
  /// Written by a forward stage and, when gradients are wanted, read by backward ones.
  Value kept(const Twine &name, ArrayRef<StringRef> extents, Type element = {});
  Value temporary(const Twine &name, ArrayRef<StringRef> extents, Type element = {},
                  bool zero = false);
  /// The captures, and what is read in place of those that a call leaves out; each once.
  SmallVector<Value> sourcesOf(ValueRange captures);
};

/// Gives scalar code at the tile level access to the parameters of a bias region. Gradients are
/// added in float64 to the parameter's sums, or in a stream to `partial` buffers with leading
/// extents [b, hq].
class TileParameters : public pe::ParameterAccess {
public:
  /// `captures` are the function arguments behind the region's tensor arguments, in order.
  TileParameters(PlanContext &context, Block &region, ValueRange captures);

  Value read(OpBuilder &builder, Location loc, BlockArgument tensor, ValueRange indices) override;
  void accumulate(OpBuilder &builder, Location loc, BlockArgument tensor, ValueRange indices,
                  Value value) override;
  Value globalHead(OpBuilder &builder, Location loc, Value head) override;
  Value headsTotal(OpBuilder &builder, Location loc) override;
  Value axisSize(OpBuilder &builder, Location loc, BlockArgument tensor, int64_t axis) override;
  Value scratch(OpBuilder &builder, Location loc, int64_t size, Type element) override;

  Parameter &parameterOf(BlockArgument tensor);
  /// Whether the call gives a parameter that may be left out.
  Value isGiven(Scalar &s, const Parameter &parameter) const;
  /// Where an element lies in this call: an axis over queries or keys is read at a global position,
  /// one over key heads by a query head.
  static SmallVector<Value> placeOf(Scalar &s, Parameter &parameter, ValueRange indices);

  /// The float type of the emitted code; stored values are converted to it.
  FloatType compute;

  /// Set for gradients inside a stream: the pair's batch and head, a buffer per parameter (without
  /// one, its sums) and, if the bias may mask pairs, whether it masks this one: then nothing is
  /// added.
  Value batch, head, isMasked;
  /// Nothing is added: only the adjoint of an inner value is wanted.
  bool addsNothing = false;
  /// Whether an index is known to lie within an axis of that extent. Without this, lowerings clamp
  /// every index.
  std::function<bool(Value index, StringRef extent)> isInside;
  llvm::MapVector<Value, Value> partial; // by buffer of the parameter
  /// By buffer of the parameter: takes what is added to its gradient, in place of all sums.
  using Sink = std::function<void(Scalar &, Value)>;
  llvm::MapVector<Value, Sink> sinks;

private:
  void add(Scalar &s, Parameter &parameter, ValueRange indices, Value value);

  PlanContext &context;
  llvm::DenseMap<Value, Value> argumentOf; // region argument -> function argument
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_PLANCONTEXT_H
