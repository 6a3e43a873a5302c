//===- Mlp.cpp - A small MLP of one coordinate ----------------------------===//
//
// The forward pass and its reverse, layer by layer, as the formulas say.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Mlp.h"

#include <algorithm>

namespace pe::reference {

Mlp::Mlp(const MlpSpec &spec) : spec(&spec) {
  activations.push_back(std::vector<double>(1));
  for (const MlpLayer &layer : spec.layers) {
    sums.push_back(std::vector<double>(layer.outputs));
    activations.push_back(std::vector<double>(layer.outputs));
    cotangents.push_back(std::vector<double>(layer.inputs));
  }
  // The last layer computes one row.
  sums.back().resize(1);
  activations.back().resize(1);
}

double Mlp::forward(const double *parameters, double x, int64_t head) {
  headRow = std::clamp<int64_t>(head, 0, spec->layers.back().outputs - 1);
  activations[0][0] = x;
  for (size_t i = 0; i < spec->layers.size(); ++i) {
    const MlpLayer &layer = spec->layers[i];
    const UnaryRule *rule = isLast(i) ? spec->finalActivation : spec->activation;
    const double *input = activations[i].data();
    for (int64_t r = 0; r < rows(i); ++r) {
      const double *weights = parameters + layer.weights + (firstRow(i) + r) * layer.inputs;
      double sum = parameters[layer.bias + firstRow(i) + r];
      for (int64_t c = 0; c < layer.inputs; ++c)
        sum += weights[c] * input[c];
      sums[i][r] = sum;
      activations[i + 1][r] = rule->value(sum);
    }
  }
  return activations.back()[0];
}

double Mlp::reverse(const double *parameters, double cotangent, double *gradient) {
  std::vector<double> *above = nullptr;
  for (size_t i = spec->layers.size(); i-- > 0;) {
    const MlpLayer &layer = spec->layers[i];
    const UnaryRule *rule = isLast(i) ? spec->finalActivation : spec->activation;
    const double *input = activations[i].data();
    double *below = cotangents[i].data();
    std::fill(cotangents[i].begin(), cotangents[i].end(), 0.0);
    for (int64_t r = 0; r < rows(i); ++r) {
      double outer = above ? (*above)[r] : cotangent;
      double inner = outer * rule->derivative(sums[i][r], activations[i + 1][r]);
      if (inner == 0.0)
        continue;
      int64_t row = (firstRow(i) + r) * layer.inputs;
      const double *weights = parameters + layer.weights + row;
      double *weightGradient = gradient + layer.weights + row;
      gradient[layer.bias + firstRow(i) + r] += inner;
      for (int64_t c = 0; c < layer.inputs; ++c) {
        weightGradient[c] += inner * input[c];
        below[c] += inner * weights[c];
      }
    }
    above = &cotangents[i];
  }
  return (*above)[0];
}

} // namespace pe::reference
