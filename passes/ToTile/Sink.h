//===- Sink.h - logits that join the denominator --------------------------===//
//
// Statistics of a row start at (s_i, 1) instead of (-infinity, 0). With p the weight exp(s_i -
// lse_i) of the sink, whose value is 0, the gradient of a row's logit is
//
//   d_s_i = - p (delta_i - dlse_i)
//
// The backward stage leaves it per row; a finish stage takes it to what the logit is made of: a
// number per head, read where it lies, or scalar code of the query, whose values a prepare stage
// computes in float64.
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

  /// Adds the buffers and the stage that computes logits. Fails with an error at the user's own
  /// line where the code has no derivative.
  LogicalResult prepare();
  std::pair<Value, Value> emit(TileBuilder &t, double unit) override;
  Value emitGradient(TileBuilder &t, Value subtrahend, Value rowConstant) override;
  void storeGradient(TileBuilder &t, Value gradient) override { t.store(gradient, rows); }
  /// Adds the finish stage.
  void finish();

private:
  /// The parameter that has the logit of every head; null where code computes it.
  Parameter *ofHeads();
  Value load(TileBuilder &t) const;
  Value emitPrimal(Scalar &s, IRMapping &mapping, ValueRange at);
  void emitLogits();

  PlanContext &context;
  pe::SinkFnOp op;
  std::string name;
  std::optional<pe::ScalarVjp> vjp;
  bool perBatch = false, perRow = false;
  Value logits; // [hq], and where they depend on them [b, hq, r]
  Value rows;   // [b, hq, r], with gradients
};

/// Adds the finish stage of logits of heads: to each head's gradient those of its rows, [b, hq, r].
void finishLogits(PlanContext &context, const Twine &stage, Value rows, const Parameter &parameter);

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_SINK_H
