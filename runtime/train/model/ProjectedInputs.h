//===- ProjectedInputs.h - Encoding inputs computed from the layer's input -*- C++ -*-===//
//
// Values per token, for each head or for all heads together, that attention reads besides queries,
// keys and values: y = norm(x) W^T, either unchanged or as prefix sums of log forget gates
// (AttentionFunction.h). Projections and their gradients work piece by piece; prefix sums, whose
// backward pass runs in the opposite direction, work on entire sequences.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_PROJECTEDINPUTS_H
#define PE_RUNTIME_TRAIN_MODEL_PROJECTEDINPUTS_H

#include "runtime/train/model/AttentionFunction.h"
#include "runtime/train/model/Parameters.h"
#include "runtime/train/model/WeightGradients.h"

#include <span>

namespace pe::train {

/// Converts the projections y of one sequence, including the bias, into the values that attention
/// reads.
void applyForm(ProjectedInput::Form form, std::span<float> sequence);

class ProjectedInputs {
public:
  /// Adds "PREFIX.w_NAME" [heads or 1, dim] for each input of the list, and "PREFIX.b_NAME" for
  /// gates.
  ProjectedInputs(const std::string &prefix, int64_t dim, int64_t heads,
                  const std::vector<ProjectedInput> &list, ParameterLayout &layout);

  void reserve(int64_t tokens);

  /// Forward: call `project` for every piece of norm(x), then `sum`.
  void project(const Weights &weights, const Piece &piece, int64_t length, const float *normed);
  void sum(int64_t sequences, int64_t length);
  std::vector<const float *> values() const;

  /// Backward: attention writes `gradients`; call `sumBackward`, then `projectBackward` for every
  /// piece, which adds to the gradient of norm(x).
  std::vector<float *> gradients();
  void sumBackward(int64_t sequences, int64_t length);
  void projectBackward(const float *parameters, const Piece &piece, int64_t length, float *dNormed);
  /// The matrices, and the gradients of the weights, ready when every piece went through
  /// `projectBackward`.
  std::vector<Linear> linears() const;
  std::vector<WeightProduct> weightProducts(const float *normed) const;
  /// Stores the gradients of the biases.
  void storeBiases(int64_t tokens, GradientUse use, float *gradients) const;

private:
  struct Input {
    ProjectedInput::Form form;
    int64_t width;
    Linear linear;
    /// The index of the bias; -1 if there is none.
    int64_t bias;
    /// The rows [tokens, width] with their gradients, and both in the layout that attention reads,
    /// [sequences, width, length].
    Tensor rows, dRows, byHead, dByHead;
  };

  std::vector<Input> inputs;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_PROJECTEDINPUTS_H
