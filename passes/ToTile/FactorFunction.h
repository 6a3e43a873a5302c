//===- FactorFunction.h - lowering of pe.factor_fn, a factor on weights ---===//
//
// The region of a `pe.factor_fn` is emitted inside the stream. Forward evaluates it for every pair;
// backward evaluates it again, with its derivative if a tensor needs one. The random draws
// (`tile.random`) precede the code; forward and backward draw the same words. Dropout is a region
// that consists of one draw.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_FACTORFUNCTION_H
#define PE_PASSES_TOTILE_FACTORFUNCTION_H

#include "dialect/PE/PEWeights.h"
#include "passes/ToTile/Terms.h"
#include "passes/ToTile/TokenReads.h"
#include "passes/Transforms/ScalarVjp.h"

namespace mlir::tile {

class FactorFunction : public WeightFactor {
public:
  FactorFunction(PlanContext &context, pe::FactorFnOp op, const std::string &name);

  /// Returns true if the factor is 1 at every pair: a draw that drops nothing.
  static bool isOne(pe::FactorFnOp op);
  /// Fails with an error at the user's line if the region has no derivative.
  LogicalResult prepare();
  Value emit(TileBuilder &t, Value weight) override;
  bool isLearned() const override { return isActive; }
  void emitGradient(TileBuilder &t, Value cotangent) override;
  /// Adds the finish stage of its parameters.
  void finish();

private:
  TileParameters parameters() { return TileParameters(context, region, op.getCaptures()); }
  /// `draws` are the drawn values; `at` begins with b, h, i, j.
  void mapPoint(IRMapping &mapping, ValueRange draws, ValueRange at);

  PlanContext &context;
  pe::FactorFnOp op;
  Block &region;
  TokenReads reads;
  CaptureSums sums;                 // of the captures that `reads` does not cover
  std::optional<pe::ScalarVjp> vjp; // by the draws, the values of `reads`, then other captures
  bool isActive = false;
  SmallVector<Value> draws; // over pairs, in the block of the last call of `emit`
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_FACTORFUNCTION_H
