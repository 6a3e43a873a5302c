//===- FactorFunction.h - a factor on weights, by its own code ------------===//
//
// The region of a `pe.factor_fn` inside the stream: forward evaluates it for every pair, backward
// evaluates it again, and its derivative where a tensor wants one. Draws of chance (`tile.random`)
// stand in front of it; forward and backward draw the same words. Dropout is one draw and nothing
// else.
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

  /// Whether it is 1 at every pair: a draw that leaves nothing out.
  static bool isOne(pe::FactorFnOp op);
  /// Fails with an error at the user's own line where the region has no derivative.
  LogicalResult prepare();
  Value emit(TileBuilder &t, Value weight) override;
  bool isLearned() const override { return isActive; }
  void emitGradient(TileBuilder &t, Value cotangent) override;
  /// Adds the finish stage of its parameters.
  void finish();

private:
  TileParameters parameters() { return TileParameters(context, region, op.getCaptures()); }
  /// `draws` are numbers, `at` begins with b, h, i, j.
  void mapPoint(IRMapping &mapping, ValueRange draws, ValueRange at);

  PlanContext &context;
  pe::FactorFnOp op;
  Block &region;
  TokenReads reads;
  CaptureSums sums;                 // of what `reads` leaves
  std::optional<pe::ScalarVjp> vjp; // to the draws, to what `reads` has, and to the rest
  bool isActive = false;
  SmallVector<Value> draws; // over pairs, in the block that `emit` wrote to last
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_FACTORFUNCTION_H
