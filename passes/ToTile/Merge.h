//===- Merge.h - merging two partial results of one attention -------------===//
//
// Two loops over rows and their elements: the first computes the weights of both parts of every
// row, in float64, and the merged logarithm; the second adds the outputs. With w_n = exp(l_n - l),
// w_s the weight of the sink, and p_n = <dO, o_n>:
//
//   dl_1 = w_1 ((w_2 + w_s) p_1 - w_2 p_2 + dl)
//   d_s  = w_s (dl - w_1 p_1 - w_2 p_2)
//   dO_n = w_n dO
//
// w_2 + w_s replaces 1 - w_1, which may cancel. Stick-breaking has w_1 = 1, w_2 = exp(l_1),
// l = l_1 + l_2, dl_1 = w_2 p_2 + dl, and dl_2 = dl.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_MERGE_H
#define PE_PASSES_TOTILE_MERGE_H

#include "passes/ToTile/PlanContext.h"
#include "passes/ToTile/Sink.h"

#include <optional>

namespace mlir::tile {

/// An output, its logarithm, and the buffers of their gradients or cotangents (null without
/// gradients).
struct AttentionResults {
  Value o, lse, dO, dLse;
};

class Merge {
public:
  /// `sink` is null without sinks.
  Merge(PlanContext &context, std::string name, bool isSoftmax, const AttentionResults &first,
        const AttentionResults &second, const AttentionResults &whole, Parameter *sink);
  void emitForward();
  void emitBackward();

private:
  void emitWeights();
  void writeSoftmaxWeights(Scalar &s, ValueRange row, Value a, Value b);
  void emitLogGradients();
  void writeSoftmaxGradients(Scalar &s, ValueRange row, Value p1, Value p2, Value dl);
  /// Adds a stage that runs `body` for every row.
  void eachRow(StringRef suffix, Phase phase, llvm::function_ref<void(Scalar &, ValueRange)> body);
  Value wide(Scalar &s, Value buffer, ValueRange at);
  void write(Scalar &s, Value number, Value buffer, ValueRange at);

  PlanContext &context;
  std::string name;
  bool isSoftmax;
  AttentionResults first, second, whole;
  Value firstWeights, secondWeights, sinkWeights; // [b, hq, r]; the first is null if it is 1
  Parameter *parameter;
  Value sinkRows; // [b, hq, r]: the gradient of the sink's logit; null without gradients
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_MERGE_H
