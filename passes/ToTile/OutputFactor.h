//===- OutputFactor.h - a factor on weights, applied to the output --------===//
//
// A factor g on the weights of a row (a pe.factor_fn with `per_query`) multiplies the row's output,
// since sum_j g_i A_ij v_j = g_i o'_i. The stages of the attention compute o' and read the scaled
// cotangent:
//
//   o_i = g_i o'_i        do'_i = g_i do_i        dg_i = <o'_i, do_i>
//
// o' is kept in f32, so that o is rounded once.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_OUTPUTFACTOR_H
#define PE_PASSES_TOTILE_OUTPUTFACTOR_H

#include "passes/ToTile/Attention.h"
#include "passes/ToTile/QueryNumbers.h"

namespace mlir::tile {

class OutputFactor {
public:
  /// Creates the buffers of o' and do', which replace the output and the cotangent of `attention`.
  OutputFactor(PlanContext &context, pe::FactorFnOp op, Attention &attention, std::string name);

  /// Adds the prepare stage.
  LogicalResult prepare() { return factor.prepare(); }
  /// Adds the stage after the forward stages of the attention.
  void emitForward();
  /// Adds the stage before the backward stages of the attention.
  void emitBackward();
  /// Adds the stages of the gradients of the code's captures.
  void finish();

private:
  std::string name;
  QueryNumbers factor;
  Value output, cotangent;       // of the caller
  Value ownOutput, ownCotangent; // o' and do'
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_OUTPUTFACTOR_H
