//===- ProjectedInputs.h - What an encoding reads of the layer's input ----*- C++ -*-===//
//
// Numbers per token, for each head or for all together, that attention reads besides queries, keys
// and values: y = norm(x) W^T, as it is or as running sums of log forget gates
// (AttentionFunction.h). Projections and their gradients work piece by piece; running sums, forward
// in one direction and backward in the other, on whole sequences.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_PROJECTEDINPUTS_H
#define PE_RUNTIME_TRAIN_MODEL_PROJECTEDINPUTS_H

#include "runtime/train/model/AttentionFunction.h"
#include "runtime/train/model/Parameters.h"
#include "runtime/train/model/WeightGradients.h"

#include <span>

namespace pe::train {

/// Turns projections y of one sequence, bias included, into what attention reads.
void applyForm(ProjectedInput::Form form, std::span<float> sequence);

class ProjectedInputs {
public:
  /// Adds for each of the list "PREFIX.w_NAME" [heads or 1, dim], and for gates "PREFIX.b_NAME".
  ProjectedInputs(const std::string &prefix, int64_t dim, int64_t heads,
                  const std::vector<ProjectedInput> &list, ParameterLayout &layout);

  void reserve(int64_t tokens);

  /// Forward: `project` for every piece of norm(x), then `sum`.
  void project(const Weights &weights, const Piece &piece, int64_t length, const float *normed);
  void sum(int64_t sequences, int64_t length);
  std::vector<const float *> values() const;

  /// Backward: attention writes `gradients`, `sumBackward`, then `projectBackward` for every piece,
  /// which adds to the gradient of norm(x).
  std::vector<float *> gradients();
  void sumBackward(int64_t sequences, int64_t length);
  void projectBackward(const float *parameters, const Piece &piece, int64_t length, float *dNormed);
  /// The gradients of the weights, ready when every piece went through `projectBackward`.
  std::vector<Linear> linears() const;
  std::vector<WeightProduct> weightProducts(const float *normed) const;
  /// Those of the biases.
  void storeBiases(int64_t tokens, GradientUse use, float *gradients) const;

private:
  struct Input {
    ProjectedInput::Form form;
    int64_t width;
    Linear linear;
    /// Where the bias is; none: -1.
    int64_t bias;
    /// Rows [tokens, width], their gradients, and both as attention reads them, [sequences, width,
    /// length].
    Tensor rows, dRows, byHead, dByHead;
  };

  std::vector<Input> inputs;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_PROJECTEDINPUTS_H
