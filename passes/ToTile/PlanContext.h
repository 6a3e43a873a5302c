//===- PlanContext.h - the plan being built -------------------------------===//
//
// The buffers of one entry function, and the access of scalar code to its parameters.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_PLANCONTEXT_H
#define PE_PASSES_TOTILE_PLANCONTEXT_H

#include "passes/ToTile/TileBuilder.h"
#include "passes/Transforms/ScalarEmitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::tile {

/// A captured tensor of the function: its buffer and, if gradients are computed, the float64 sums
/// that finish stages add to.
struct Parameter {
  std::string name;
  Value buffer;
  Value gradient;     // the result for the gradient; null without gradients and for integers
  Value gradientSums; // null without gradients, for integers, and if a stage writes the gradient
  Value absent;       // the argument that is read if the call omits this one, or null
  SmallVector<StringRef> extents() const;
};

/// Returns the size that is 1 if a call passes the optional argument `name`, and 0 otherwise.
std::string givenExtent(StringRef name);

struct PlanContext {
  TileBuilder plan; // at the end of the plan's body
  bool grad = false;
  bool earlyExit = true;
  bool ownElements = false;
  /// Forward halves have a second form for calls with at most this number of rows (0: none).
  int64_t fewRows = 0;
  int64_t headDim = 0, valueDim = 0;
  Type operands; // element type of contraction operands: that of the activations, or tf32
  llvm::MapVector<Value, Parameter> parameters; // by argument of the function

  Value buffer(const Twine &name, Role role, ArrayRef<StringRef> extents, Type element = {},
               bool zero = false);
  /// Creates a tensor of the caller whose rows need not be contiguous.
  Value strided(const Twine &name, Role role, ArrayRef<StringRef> extents, Type element);
  /// Creates a buffer that a forward stage writes and, if gradients are computed, backward stages
  /// read.
  Value kept(const Twine &name, ArrayRef<StringRef> extents, Type element = {});
  Value temporary(const Twine &name, ArrayRef<StringRef> extents, Type element = {},
                  bool zero = false);
  /// Returns the captures and the arguments that replace omitted ones, without duplicates.
  SmallVector<Value> sourcesOf(ValueRange captures);
};

/// The sums of one tensor's gradient inside a stream. The extents are b and hq, then the axes of
/// the tensor except those in `shared`, at which every read has the pair's batch or head.
///
/// Example: bias[b, h, i, j] has sums [b, hq, r, c]; table[bucket, h] has sums [b, hq, 32].
struct PartialSums {
  Value buffer;
  llvm::SmallBitVector shared; // by axis of the tensor
  bool ofPairs = false;        // no element belongs to several pairs

  /// Appends the elements of `of` at the other axes.
  template <typename List, typename Range> void appendRest(List &list, Range &&of) const {
    for (auto [axis, element] : llvm::enumerate(of))
      if (axis >= shared.size() || !shared[axis])
        list.push_back(element);
  }
};

/// Positions of a query and a key whose indices in the call the code has; null if it has none.
struct KnownIndices {
  Value rowPosition, row, columnPosition, column;
};

/// Gives scalar code at the tile level access to the parameters of a bias region. Gradients are
/// added in float64 to the parameter's sums, or in a stream to `partial` sums.
class TileParameters : public pe::ParameterAccess {
public:
  /// `captures` are the function arguments of the region's tensor arguments, in order.
  TileParameters(PlanContext &context, Block &region, ValueRange captures);

  Value read(OpBuilder &builder, Location loc, BlockArgument tensor, ValueRange indices) override;
  void accumulate(OpBuilder &builder, Location loc, BlockArgument tensor, ValueRange indices,
                  Value value) override;
  Value globalHead(OpBuilder &builder, Location loc, Value head) override;
  Value headsTotal(OpBuilder &builder, Location loc) override;
  Value axisSize(OpBuilder &builder, Location loc, BlockArgument tensor, int64_t axis) override;
  Value scratch(OpBuilder &builder, Location loc, int64_t size, Type element) override;

  Parameter &parameterOf(BlockArgument tensor);
  /// Returns true (i1) if the call passes an optional parameter.
  Value isGiven(Scalar &s, const Parameter &parameter) const;
  /// Returns the indices of an element in this call. An axis over queries or keys is indexed by a
  /// global position, an axis over key heads by a query head.
  static SmallVector<Value> placeOf(Scalar &s, Parameter &parameter, ValueRange indices,
                                    const KnownIndices &known = {});

  /// The float type of the emitted code; stored values are converted to it.
  FloatType compute;

  /// Set for gradients inside a stream: the batch and head of the pair and, if the bias may mask
  /// pairs, whether it masks this one; a masked pair adds nothing.
  Value batch, head, isMasked;
  KnownIndices known;
  /// Suppresses all accumulation, when only the adjoint of an inner value is needed.
  bool addsNothing = false;
  /// Returns true if an index is known to be inside an axis of that extent. If unset, lowerings
  /// clamp every index.
  std::function<bool(Value index, StringRef extent)> isInside;
  llvm::MapVector<Value, PartialSums> partial; // by buffer of the parameter; if absent, its sums
  /// By buffer of the parameter: receives the additions to its gradient instead of all sums.
  using Sink = std::function<void(Scalar &, Value)>;
  llvm::MapVector<Value, Sink> sinks;

private:
  void add(Scalar &s, Parameter &parameter, ValueRange indices, Value value);

  PlanContext &context;
  llvm::DenseMap<Value, Value> argumentOf; // region argument -> function argument
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_PLANCONTEXT_H
