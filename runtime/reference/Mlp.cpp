//===- Mlp.cpp - A small MLP of one coordinate ----------------------------===//
//
// Evaluates the layers one after the other, forward and in reverse.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Mlp.h"

#include <algorithm>

namespace pe::reference {

Mlp::Mlp(const MlpSpec &spec, const double *parameters) : spec(&spec), parameters(parameters) {
  activations.push_back(std::vector<double>(1));
  for (const MlpLayer &layer : spec.layers) {
    sums.push_back(std::vector<double>(layer.outputs));
    activations.push_back(std::vector<double>(layer.outputs));
    cotangents.push_back(std::vector<double>(layer.inputs));
    std::vector<double> &columns = transposed.emplace_back(layer.inputs * layer.outputs);
    for (int64_t r = 0; r < layer.outputs; ++r)
      for (int64_t c = 0; c < layer.inputs; ++c)
        columns[c * layer.outputs + r] = parameters[layer.weights + r * layer.inputs + c];
  }
  // The last layer computes one row.
  sums.back().resize(1);
  activations.back().resize(1);
}

double Mlp::forward(double x, int64_t head) {
  headRow = std::clamp<int64_t>(head, 0, spec->layers.back().outputs - 1);
  activations[0][0] = x;
  for (size_t i = 0; i < spec->layers.size(); ++i) {
    const MlpLayer &layer = spec->layers[i];
    const UnaryRule *rule = isLast(i) ? spec->finalActivation : spec->activation;
    int64_t first = firstRow(i), count = rows(i);
    double *sum = sums[i].data();
    std::copy_n(parameters + layer.bias + first, count, sum);
    for (int64_t c = 0; c < layer.inputs; ++c) {
      const double *column = transposed[i].data() + c * layer.outputs + first;
      double input = activations[i][c];
      for (int64_t r = 0; r < count; ++r)
        sum[r] += column[r] * input;
    }
    for (int64_t r = 0; r < count; ++r)
      activations[i + 1][r] = rule->value(sum[r]);
  }
  return activations.back()[0];
}

double Mlp::reverse(double cotangent, double *gradient) {
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
