//===- Merge.h - merging two partial results of one attention -------------===//
//
// Two loops over rows and their elements: the first computes the weights w_1 and w_2 of both parts
// of every row, in float64, and the merged statistic, by the rule of the normalizer; the second
// adds the outputs. The backward pass computes the cotangents of the statistics by the same rule,
// and dO_n = w_n dO.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_TOTILE_MERGE_H
#define PE_PASSES_TOTILE_MERGE_H

#include "passes/ToTile/FunctionInputs.h"
#include "passes/ToTile/Normalizer.h"
#include "passes/ToTile/PlanContext.h"

namespace mlir::tile {

class Merge {
public:
  /// `sink` is null without sinks.
  Merge(PlanContext &context, std::string name, const MergeRule &rule,
        const AttentionResults &first, const AttentionResults &second,
        const AttentionResults &whole, Parameter *sink);
  void emitForward();
  void emitBackward();

private:
  void emitWeights();
  void emitStatisticGradients();
  /// Adds a stage that runs `body` for every row.
  void eachRow(StringRef suffix, Phase phase, llvm::function_ref<void(Scalar &, ValueRange)> body);
  Value wide(Scalar &s, Value buffer, ValueRange at);
  void write(Scalar &s, Value number, Value buffer, ValueRange at);

  PlanContext &context;
  std::string name;
  const MergeRule &rule;
  AttentionResults first, second, whole;
  Value firstWeights, secondWeights, sinkWeights; // [b, hq, r]; null: 1, or no sink
  Parameter *parameter;
  Value sinkRows; // [b, hq, r]: the gradient of the sink's logit; null without gradients
};

} // namespace mlir::tile

#endif // PE_PASSES_TOTILE_MERGE_H
