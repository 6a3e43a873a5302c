//===- Sink.h - logits that join the denominator --------------------------===//
//
// The statistics of a row start at (s_i, 1) instead of (-infinity, 0). With p = exp(s_i - lse_i)
// the weight of the sink, whose value vector is 0, the gradient of a row's logit is
//
//   d_s_i = - p (delta_i - dlse_i)
//
// The backward stage stores it per row. A finish stage chains it to the source of the logit: a
// value per head, read in place, or scalar code of the query, whose values a prepare stage computes
// in float64.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_SINK_H
#define PE_PASSES_TOTILE_SINK_H

#include "dialect/PE/PEWeights.h"
#include "passes/ToTile/Attention.h"
#include "passes/ToTile/PlanContext.h"
#include "passes/Transforms/ScalarVjp.h"

namespace mlir::tile {

class Sink : public StatisticsStart {
public:
  Sink(PlanContext &context, pe::SinkFnOp op, const std::string &name);

  /// Adds the buffers and the stage that computes logits. Fails with an error at the user's line if
  /// the code has no derivative.
  LogicalResult prepare();
  std::pair<Value, Value> emit(TileBuilder &t, double unit) override;
  Value emitGradient(TileBuilder &t, Value subtrahend, Value rowConstant) override;
  void storeGradient(TileBuilder &t, Value gradient) override { t.store(gradient, rows); }
  /// Adds the finish stage.
  void finish();

private:
  /// Returns the parameter that has the logit of every head, or null if scalar code computes it.
  Parameter *ofHeads();
  Value load(TileBuilder &t) const;
  Value emitPrimal(Scalar &s, IRMapping &mapping, ValueRange at);
  void emitLogits();

  PlanContext &context;
  pe::SinkFnOp op;
  std::string name;
  std::optional<pe::ScalarVjp> vjp;
  bool perBatch = false, perRow = false;
  Value logits; // [hq], with b and r if they depend on them
  Value rows;   // [b, hq, r]: gradients; null without gradients
};

/// Adds the finish stage of per-head logits: it adds the gradients of the rows, [b, hq, r], to
/// those of their heads.
void finishLogits(PlanContext &context, const Twine &stage, Value rows, const Parameter &parameter);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_SINK_H
