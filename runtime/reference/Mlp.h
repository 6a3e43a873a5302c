//===- Mlp.h - A small MLP of one coordinate --------------------*- C++ -*-===//
//
// f_h(x) = W_n act(... act(W_1 x + b_1) ...) + b_n with one input and one output. The last layer
// has one row per head, or one row shared by all heads; with a single layer that row is an affine
// map of x. Weights are in the parameter pack, row-major [out, in].
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_REFERENCE_MLP_H
#define PE_RUNTIME_REFERENCE_MLP_H

#include "runtime/reference/ScalarRules.h"

#include <cstdint>
#include <vector>

namespace pe::reference {

/// One layer; weights and bias are offsets.
struct MlpLayer {
  int64_t weights = 0; ///< offset in the parameter pack
  int64_t bias = 0;
  int64_t inputs = 1;
  int64_t outputs = 1;
};

/// The layers and activation functions of an MLP.
struct MlpSpec {
  std::vector<MlpLayer> layers;
  const UnaryRule *activation = nullptr;
  const UnaryRule *finalActivation = nullptr;
};

/// Evaluates an MlpSpec; stores the activations of the last forward call for the reverse call.
/// `parameters` (the entire pack) must not change during the object's lifetime.
class Mlp {
public:
  Mlp(const MlpSpec &spec, const double *parameters);

  double forward(double x, int64_t head);

  /// Adds cotangent * df/dtheta to `gradient` (in the layout of the parameters) and returns
  /// cotangent * df/dx, for the arguments of the last forward call.
  double reverse(double cotangent, double *gradient);

  /// Calls visit(offset, length) for every range of parameters that reverse adds to.
  template <typename Visit> void forEachRange(Visit visit) const {
    for (size_t i = 0; i < spec->layers.size(); ++i) {
      const MlpLayer &layer = spec->layers[i];
      int64_t row = firstRow(i);
      visit(layer.weights + row * layer.inputs, rows(i) * layer.inputs);
      visit(layer.bias + row, rows(i));
    }
  }

private:
  bool isLast(size_t i) const { return i + 1 == spec->layers.size(); }
  /// The last layer uses only the row of the head.
  int64_t firstRow(size_t i) const { return isLast(i) ? headRow : 0; }
  int64_t rows(size_t i) const { return isLast(i) ? 1 : spec->layers[i].outputs; }

  const MlpSpec *spec;
  const double *parameters;
  int64_t headRow = 0;
  /// The weights of each layer as [in, out]: a hidden layer adds one input to all sums at once.
  std::vector<std::vector<double>> transposed;
  /// activations[i] is the input of layer i; sums[i] is the input of its activation function.
  std::vector<std::vector<double>> activations;
  std::vector<std::vector<double>> sums;
  std::vector<std::vector<double>> cotangents;
};

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_MLP_H
