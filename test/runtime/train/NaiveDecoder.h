//===- NaiveDecoder.h - Naive decoder in double for tests -------*- C++ -*-===//
//
// A second implementation of the decoder, written from the model's description: computes the losses
// of a batch as a function of all parameters, in double. The gradients of the model are checked
// against its finite differences.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_RUNTIME_TRAIN_NAIVEDECODER_H
#define PE_TEST_RUNTIME_TRAIN_NAIVEDECODER_H

#include "runtime/train/model/Decoder.h"

#include <cmath>
#include <map>
#include <string>

namespace pe::test {

class NaiveDecoder {
public:
  using Values = std::vector<double>;

  explicit NaiveDecoder(const train::Decoder &model, std::string activation = "relu2")
      : config(model.config()), activation(std::move(activation)) {
    for (const train::Parameter &parameter : model.layout().all()) {
      const float *values = model.values().at(parameter);
      parameters[parameter.name] = Values(values, values + parameter.count);
    }
  }

  std::map<std::string, Values> parameters;

  /// Returns the weighted losses in nats, one per token.
  Values losses(const train::Batch &batch) const {
    Values result;
    for (int64_t s = 0; s < batch.sequences; ++s) {
      Rows x;
      for (int64_t i = 0; i < batch.length; ++i) {
        int64_t token = batch.inputs[s * batch.length + i];
        auto row = parameters.at("embedding").begin() + token * config.dim;
        x.emplace_back(row, row + config.dim);
        if (parameters.count("embedding.bias.table"))
          for (int64_t d = 0; d < config.dim; ++d)
            x.back()[d] += parameters.at("embedding.bias.table")[i * config.dim + d];
      }
      for (int64_t layer = 0; layer < config.layers; ++layer) {
        std::string prefix = "layer" + std::to_string(layer);
        attend(prefix + ".attention", x);
        for (Values &row : x)
          add(row, times(prefix + ".mlp.w2", hidden(prefix + ".mlp", norm(row)), config.dim));
      }
      for (int64_t i = 0; i < batch.length; ++i) {
        Values logits = times(config.tieHead ? "embedding" : "head", norm(x[i]), config.vocabulary);
        double sum = 0;
        for (double logit : logits)
          sum += std::exp(logit);
        const int64_t place = s * batch.length + i;
        result.push_back(batch.weights[place] * (std::log(sum) - logits[batch.targets[place]]));
      }
    }
    return result;
  }

  double meanLoss(const train::Batch &batch) const {
    double sum = 0;
    for (double loss : losses(batch))
      sum += loss;
    return sum / batch.totalWeight();
  }

private:
  using Rows = std::vector<Values>;

  Values norm(const Values &x) const {
    const bool centered = config.norm == train::NormKind::Layer;
    double squares = 0, center = 0;
    for (double value : x)
      center += centered ? value / static_cast<double>(x.size()) : 0;
    for (double value : x)
      squares += (value - center) * (value - center);
    Values y = x;
    for (double &value : y)
      value = (value - center) /
              std::sqrt(squares / static_cast<double>(x.size()) + (centered ? 1e-5 : 1e-6));
    return y;
  }

  Values times(const std::string &name, const Values &x, int64_t outputs) const {
    const Values &w = parameters.at(name);
    Values y(outputs);
    for (int64_t o = 0; o < outputs; ++o)
      for (size_t i = 0; i < x.size(); ++i)
        y[o] += w[o * x.size() + i] * x[i];
    return y;
  }

  Values hidden(const std::string &prefix, const Values &x) const {
    Values h = times(prefix + ".w1", x, config.hidden());
    const Values up = config.gated ? times(prefix + ".w3", x, config.hidden()) : Values();
    for (size_t i = 0; i < h.size(); ++i)
      if (activation == "swiglu")
        h[i] = h[i] / (1 + std::exp(-h[i])) * up[i];
      else if (activation == "gelu")
        h[i] = h[i] * std::erfc(-h[i] / std::sqrt(2.0)) / 2;
      else
        h[i] = h[i] > 0 ? h[i] * h[i] : 0;
    return h;
  }

  static void add(Values &x, const Values &y) {
    for (size_t i = 0; i < x.size(); ++i)
      x[i] += y[i];
  }

  void attend(const std::string &prefix, Rows &x) const {
    int64_t headDim = config.headDim(), group = config.heads / config.keyHeads;
    const std::string bias = config.shareEncoding ? "shared.bias" : prefix + ".bias";
    const Values &slopes = parameters.at(bias + ".slopes");
    double lift = parameters.at(bias + ".lift")[0];
    const bool gated = parameters.count(prefix + ".w_f") != 0;
    Rows q, k, v, f, marks, o(x.size(), Values(config.dim));
    for (const Values &row : x) {
      Values y = norm(row);
      q.push_back(times(prefix + ".wq", y, config.heads * headDim));
      k.push_back(times(prefix + ".wk", y, config.keyHeads * headDim));
      v.push_back(times(prefix + ".wv", y, config.keyHeads * headDim));
      if (!gated)
        continue;
      marks.push_back(times(prefix + ".w_marks", y, 1));
      Values gates = times(prefix + ".w_f", y, config.heads);
      for (int64_t h = 0; h < config.heads; ++h)
        gates[h] = (f.empty() ? 0 : f.back()[h]) -
                   std::log(1 + std::exp(-gates[h] - parameters.at(prefix + ".b_f")[h]));
      f.push_back(gates);
    }
    for (int64_t h = 0; h < config.heads; ++h)
      for (size_t i = 0; i < x.size(); ++i) {
        Values p;
        double sum = 0;
        for (size_t j = 0; j <= i; ++j) {
          double score = 0;
          for (int64_t d = 0; d < headDim; ++d)
            score += q[i][h * headDim + d] * k[j][h / group * headDim + d];
          const double gate = gated ? f[i][h] - f[j][h] + marks[j][0] : 0;
          p.push_back(std::exp(gate + score / std::sqrt(static_cast<double>(headDim)) -
                               slopes[h] * static_cast<double>(i - j) +
                               lift * static_cast<double>(j)));
          sum += p.back();
        }
        for (size_t j = 0; j <= i; ++j)
          for (int64_t d = 0; d < headDim; ++d)
            o[i][h * headDim + d] += p[j] / sum * v[j][h / group * headDim + d];
      }
    for (size_t i = 0; i < x.size(); ++i)
      add(x[i], times(prefix + ".wo", o[i], config.dim));
  }

  train::DecoderConfig config;
  std::string activation;
};

} // namespace pe::test

#endif // PE_TEST_RUNTIME_TRAIN_NAIVEDECODER_H
