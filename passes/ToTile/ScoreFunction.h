//===- ScoreFunction.h - lowering of pe.score_fn --------------------------===//
//
// The region of a `pe.score_fn` is emitted inside the stream. Forward evaluates it for every pair;
// backward evaluates it again together with its derivative, so that nothing is saved in between.
// Its argument is in natural units, everything after it in log2 units.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_SCOREFUNCTION_H
#define PE_PASSES_TOTILE_SCOREFUNCTION_H

#include "dialect/PE/PEScores.h"
#include "passes/ToTile/Terms.h"
#include "passes/ToTile/TokenReads.h"
#include "passes/Transforms/ScalarVjp.h"

namespace mlir::tile {

class ScoreFunction : public ScoreTransform {
public:
  ScoreFunction(PlanContext &context, pe::ScoreFnOp op, const std::string &name);

  /// Fails with an error at the user's line if the region has no derivative.
  LogicalResult prepare();
  Score emit(TileBuilder &t, Value product, Value start, bool withSlope) override;
  Value emitGradient(TileBuilder &t, const Score &score, Value cotangent) override;
  /// Adds the finish stage of its parameters.
  void finish();

private:
  TileParameters parameters() { return TileParameters(context, region, op.getCaptures()); }
  /// `in` is the score before the function; `at` begins with b, h, i, j.
  void mapPoint(IRMapping &mapping, Value in, ValueRange at);

  PlanContext &context;
  pe::ScoreFnOp op;
  Block &region;
  TokenReads reads;
  CaptureSums sums;                        // of the captures that `reads` does not cover
  std::optional<pe::ScalarVjp> vjp;        // by the score
  std::optional<pe::ScalarVjp> captureVjp; // by the score, the values of `reads`, other captures
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_SCOREFUNCTION_H
