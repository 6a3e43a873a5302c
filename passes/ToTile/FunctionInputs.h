//===- FunctionInputs.h - the plan of a function and its arguments --------===//
//
// The first phase of lowering an entry function. All later phases read arguments, their gradients
// and the names of results from here.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_FUNCTIONINPUTS_H
#define PE_PASSES_TOTILE_FUNCTIONINPUTS_H

#include "passes/ToTile/Attention.h"
#include "passes/ToTile/PlanContext.h"
#include "passes/ToTile/ToTile.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <optional>

namespace mlir::tile {

/// An output, its statistic, and the buffers of their gradients or cotangents; null if absent.
struct AttentionResults {
  Value o, statistic, dO, dStatistic;
};

/// The plan of an entry function, with its arguments and their gradients as buffers.
class Inputs {
public:
  /// Creates the plan before the function. Fails with a message if the options name no type.
  static FailureOr<std::unique_ptr<Inputs>> create(func::FuncOp function,
                                                   const pe::PEToTilePassOptions &options);

  PlanContext &plan() { return *context; }
  PlanOp planOp() { return op; }
  /// Returns the element type of queries, keys, values, outputs and their gradients.
  Type activation() const { return activationType; }
  /// Returns the element type of activations that the caller does not see: that of the products of
  /// kernels, if these are wider.
  Type innerType() const {
    return context->plan.widens ? Type(context->plan.getF32Type()) : activationType;
  }
  /// Returns the buffer of an argument, or null for other values.
  Value buffer(Value argument) const { return buffers.lookup(argument); }
  /// Returns the buffer of its gradient, or null without gradients.
  Value gradient(Value argument) const { return gradients.lookup(argument); }
  StringRef nameOf(BlockArgument argument);
  /// Returns the name of a value that the function returns.
  std::optional<StringRef> returned(Value value);

  /// Creates the buffers of an attention's results. Results that the function does not return are
  /// inner buffers with the prefix `name`.
  AttentionResults results(pe::AttentionOp attention, const std::string &name);
  /// Creates the buffers of the results of a merge, which the function returns.
  AttentionResults results(pe::MergeOp merge);

  /// Adds the stages that round the float64 sums of the gradients of parameters, once.
  void storeParameterGradients();

private:
  Inputs(func::FuncOp function, bool grad) : function(function), grad(grad) {}
  LogicalResult createPlan(const pe::PEToTilePassOptions &options);
  void declareParameters(TileBuilder &t);
  void declareExtents(TileBuilder &t);
  void createArguments();
  void createGradients();
  void createBounds();

  func::FuncOp function;
  bool grad;
  Type activationType;
  PlanOp op;
  std::unique_ptr<PlanContext> context;
  DenseMap<Value, Value> buffers, gradients; // of arguments
};

/// The first phase of an attention: its arguments.
struct AttentionInputs {
  pe::AttentionOp op;
  std::string name; ///< prefix of its stages and buffers
  double scale;
  GivenRows rows;

  /// Fails with a message if queries, keys or values are not arguments of the function.
  static FailureOr<AttentionInputs> create(Inputs &inputs, pe::AttentionOp op, std::string name);
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_FUNCTIONINPUTS_H
