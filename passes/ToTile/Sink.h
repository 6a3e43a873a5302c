//===- Sink.h - logits that join the denominator --------------------------===//
//
// Statistics of a row start at (s_h, 1) instead of (-infinity, 0). With p the weight exp(s_h -
// lse_i) of the sink, whose value is 0, its gradient is
//
//   d_s_h = - sum over b and i of p (delta_i - dlse_i)
//
// summed by a finish stage over numbers that the backward stage leaves per row.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_SINK_H
#define PE_PASSES_TOTILE_SINK_H

#include "passes/ToTile/Attention.h"
#include "passes/ToTile/PlanContext.h"

namespace mlir::tile {

class Sink : public StatisticsStart {
public:
  /// `parameter` holds the logits, one per query head.
  Sink(PlanContext &context, Parameter &parameter, const std::string &name);

  std::pair<Value, Value> emit(TileBuilder &t, double unit) override;
  Value emitGradient(TileBuilder &t, Value subtrahend, Value rowConstant) override;
  void storeGradient(TileBuilder &t, Value gradient) override { t.store(gradient, rows); }
  /// What the gradient of each row's logit is written to: [b, hq, r], with gradients.
  Value getRows() const { return rows; }
  /// Adds the finish stage.
  void finish();

private:
  PlanContext &context;
  Parameter &parameter;
  std::string name;
  Value rows; // [b, hq, r], with gradients
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_SINK_H
