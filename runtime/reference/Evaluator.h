//===- Evaluator.h - Forward and reverse of a function ----------*- C++ -*-===//
//
// Implements Reference.h: binds the inputs, runs the operations in order, stores each attention
// with its inputs, and runs them in reverse order for the gradients.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_EVALUATOR_H
#define PE_RUNTIME_REFERENCE_EVALUATOR_H

#include "runtime/reference/Attention.h"
#include "runtime/reference/CallSizes.h"
#include "runtime/reference/Embedding.h"
#include "runtime/reference/GraphBuilder.h"
#include "runtime/reference/Results.h"

#include <deque>
#include <set>

namespace pe::reference {

/// Evaluates one function for one call.
class Evaluator {
public:
  Evaluator(const Program &program, const Positions &positions, const EvaluateOptions &options)
      : program(program), definitions(findDefinitions(program)), positions(positions),
        threads(options.threads), rounding(options.rounding),
        roundsFormulas(options.roundsFormulas) {}

  /// Checks names, types and shapes of arguments and, with `grad`, of cotangents.
  Status bind(const TensorMap &inputs, bool grad);
  /// Prepares each attention and, with `run`, evaluates it.
  Status forward(bool run);
  /// Computes the gradients after forward. The cotangents are in `inputs`.
  Status reverse(const TensorMap &inputs);

  /// Returns the results of forward and, with `grad`, of reverse.
  Results takeResults(bool grad);
  /// Returns the problems of the attentions, in program order.
  std::vector<const AttentionProblem *> problems() const;
  /// Returns the embeddings, in program order.
  std::vector<const EmbeddingProblem *> embeddings() const;
  /// Returns the node of a coordinate or bias in the first attention's graph.
  Expected<NodeId> nodeOf(ValueId value) { return steps.front().builder.nodeOf(value); }

private:
  /// One pe.attention, with everything that its reverse needs.
  struct Step {
    const Operation *operation;
    ValueId q, k, v;
    GraphBuilder builder;
    AttentionProblem problem;
    /// The values that only sinks or factors read, and no bias. The terms of scores do not bound
    /// their gradients.
    std::set<ValueId> own;

    /// Adds the parameters from index `first` on to `own`.
    void noteOwn(size_t first) {
      for (size_t n = first; n < builder.parameters.size(); ++n)
        own.insert(builder.parameters[n].value);
    }
  };

  /// One pe.embed.
  struct EmbedStep {
    const Operation *operation;
    ValueId x;
    GraphBuilder builder;
    EmbeddingProblem problem;
  };

  /// One pe.merge, with the weights of each row and of the sink.
  struct MergeStep {
    const Operation *operation;
    ValueId outputs[2], logs[2];
    std::optional<ValueId> sink;
    const Merger *merger;
    std::vector<double> weights[2], sinkWeights;
  };

  Status bindArgument(const Argument &argument, const Tensor &tensor);
  Status evaluateConstant(const Operation &operation);
  Status prepareAttention(const Operation &operation);
  Status gatherPages(const Operation &operation);
  Status readPositions(Step &step);
  Status readOperands(Step &step);
  Status readSides(Step &step);
  Status checkNormalizer(const Step &step) const;
  Status readRotation(Step &step, size_t n);
  Status readSink(Step &step, ValueId operand);
  Status readFactor(Step &step, ValueId operand);
  Status readContent(Step &step, size_t n);
  Status readRowsOfContent(Step &step, const std::vector<ValueId> &queries, size_t term,
                           ContentProblem &content);
  Status readQueryShift(Step &step, ValueId value);
  Expected<int64_t> readMatrix(Step &step, const Operation &operation, ValueId tensor,
                               const Shape &shape);
  /// The probability and the seeds of dropout.
  struct Dropped {
    double probability;
    std::vector<int64_t> seeds;
    bool isPerBatch;
  };
  Expected<Dropped> readSeed(const Operation &operation, ValueId operand, int64_t batch);
  Status prepareEmbed(const Operation &operation);
  Status checkAxes(const EmbedStep &step) const;
  void runEmbed(const EmbedStep &step);
  void reverseEmbed(const EmbedStep &step);
  Status prepareMerge(const Operation &operation);
  void runMerge(MergeStep &step);
  void reverseMerge(const MergeStep &step);
  void runAttention(Step &step);
  void reverseAttention(const Step &step);
  Array &gradientOf(ValueId value) { return arrayOf(gradients, value); }
  const Array *findGradient(ValueId value) const;
  /// Returns the value's array in `values`, initially zeros of its tensor's shape.
  Array &arrayOf(TensorValues &values, ValueId value) const;

  const Program &program;
  Definitions definitions;
  Positions positions;
  unsigned threads;
  std::optional<DType> rounding;
  bool roundsFormulas;
  /// The number of keys of a call whose keys are in pages; otherwise all of the table.
  std::optional<int64_t> keysInPages;
  TensorValues tensors;
  TensorValues gradients;
  TensorValues magnitudes;
  TensorValues noiseSquared;
  TensorValues roundingSquared;
  /// The effects of errors of logits: on outputs, and the squares of those on gradients.
  TensorValues outputErrors;
  TensorValues errorSquared;
  /// The magnitudes of the terms of an attention's results, and of the gradients of its values.
  TensorValues terms;
  TensorValues gradientTerms;
  /// Arguments of integer type have no gradient.
  std::set<ValueId> integers;
  /// The exact values of 64-bit integer arguments: seeds.
  SeedValues seeds;
  std::deque<Step> steps;
  std::deque<EmbedStep> embeds;
  std::deque<MergeStep> merges;
  double maxLogit = 0.0;
  std::vector<OutsideRead> outsideReads;
  std::string badScore; ///< as in Results
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_EVALUATOR_H
