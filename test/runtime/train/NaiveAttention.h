//===- NaiveAttention.h - Attention by obvious loops, for tests -*- C++ -*-===//
//
// Causal softmax attention with the bias -slopes[h] * (i - j) + lift[] * j, and if it is asked for
// gates f[b, h, i] - f[b, h, j] + marks[b, j], forward and backward in double: stands in for
// compiled attention in tests of the model and the trainer.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_RUNTIME_TRAIN_NAIVEATTENTION_H
#define PE_TEST_RUNTIME_TRAIN_NAIVEATTENTION_H

#include "runtime/train/model/AttentionFunction.h"

#include <algorithm>
#include <cmath>

namespace pe::test {

class NaiveAttention : public train::AttentionFunction {
public:
  explicit NaiveAttention(int64_t heads, bool gated = false)
      : gated(gated), list{{"slopes",
                            {heads},
                            "0.25",
                            false,
                            0.01f,
                            {{"range", "1 / slopes"}, {"wrong", "slope"}}},
                           {"lift", {}, "0.01"}} {}

  const std::vector<train::EncodingParameter> &parameters() const override { return list; }
  std::vector<train::ProjectedInput> projected() const override {
    using Form = train::ProjectedInput::Form;
    if (!gated)
      return {};
    return {{"f", Form::LogGates, true}, {"marks", Form::Plain, false}};
  }

  Status forward(const train::AttentionInputs &in, float *o) override {
    forEachRow(in, [&](const Row &row) {
      std::vector<double> p = probabilities(in, row);
      for (int64_t d = 0; d < in.headDim; ++d) {
        double sum = 0;
        for (int64_t j = 0; j <= row.i; ++j)
          sum += p[j] * in.v[row.key(in, j) + d];
        o[row.query(in) + d] = static_cast<float>(sum);
      }
    });
    return Status::success();
  }

  Status backward(const train::AttentionInputs &in, const float *dO,
                  const train::AttentionGradients &out) override {
    int64_t queries = in.batch * in.heads * in.length * in.headDim;
    int64_t keys = in.batch * in.keyHeads * in.length * in.headDim;
    std::vector<double> dQ(queries), dK(keys), dV(keys), dSlopes(in.heads);
    std::vector<double> dF(gated ? in.batch * in.heads * in.length : 0);
    std::vector<double> dMarks(gated ? in.batch * in.length : 0);
    double dLift = 0, scale = 1 / std::sqrt(static_cast<double>(in.headDim));
    forEachRow(in, [&](const Row &row) {
      std::vector<double> p = probabilities(in, row), dP(row.i + 1);
      int64_t q = row.query(in);
      double mean = 0;
      for (int64_t j = 0; j <= row.i; ++j) {
        for (int64_t d = 0; d < in.headDim; ++d) {
          dP[j] += static_cast<double>(dO[q + d]) * in.v[row.key(in, j) + d];
          dV[row.key(in, j) + d] += p[j] * dO[q + d];
        }
        mean += p[j] * dP[j];
      }
      for (int64_t j = 0; j <= row.i; ++j) {
        double dS = p[j] * (dP[j] - mean);
        dSlopes[row.h] -= dS * static_cast<double>(row.i - j);
        dLift += dS * static_cast<double>(j);
        if (gated) {
          dF[(row.b * in.heads + row.h) * in.length + row.i] += dS;
          dF[(row.b * in.heads + row.h) * in.length + j] -= dS;
          dMarks[row.b * in.length + j] += dS;
        }
        for (int64_t d = 0; d < in.headDim; ++d) {
          dQ[q + d] += dS * scale * in.k[row.key(in, j) + d];
          dK[row.key(in, j) + d] += dS * scale * in.q[q + d];
        }
      }
    });
    std::copy(dQ.begin(), dQ.end(), out.dQ);
    std::copy(dK.begin(), dK.end(), out.dK);
    std::copy(dV.begin(), dV.end(), out.dV);
    std::copy(dSlopes.begin(), dSlopes.end(), out.parameters[0]);
    out.parameters[1][0] = static_cast<float>(dLift);
    if (gated) {
      std::copy(dF.begin(), dF.end(), out.projected[0]);
      std::copy(dMarks.begin(), dMarks.end(), out.projected[1]);
    }
    return Status::success();
  }

private:
  struct Row {
    int64_t b, h, i;
    int64_t query(const train::AttentionInputs &in) const {
      return ((b * in.heads + h) * in.length + i) * in.headDim;
    }
    int64_t key(const train::AttentionInputs &in, int64_t j) const {
      int64_t keyHead = h / (in.heads / in.keyHeads);
      return ((b * in.keyHeads + keyHead) * in.length + j) * in.headDim;
    }
  };

  template <typename Body> static void forEachRow(const train::AttentionInputs &in, Body body) {
    for (int64_t b = 0; b < in.batch; ++b)
      for (int64_t h = 0; h < in.heads; ++h)
        for (int64_t i = 0; i < in.length; ++i)
          body(Row{b, h, i});
  }

  std::vector<double> probabilities(const train::AttentionInputs &in, const Row &row) const {
    std::vector<double> p(row.i + 1);
    double largest = -1e300, sum = 0;
    for (int64_t j = 0; j <= row.i; ++j) {
      double score = 0;
      for (int64_t d = 0; d < in.headDim; ++d)
        score += static_cast<double>(in.q[row.query(in) + d]) * in.k[row.key(in, j) + d];
      p[j] = score / std::sqrt(static_cast<double>(in.headDim)) -
             in.parameters[0][row.h] * static_cast<double>(row.i - j) +
             in.parameters[1][0] * static_cast<double>(j);
      if (gated) {
        const float *f = in.projected[0] + (row.b * in.heads + row.h) * in.length;
        p[j] += static_cast<double>(f[row.i]) - f[j] + in.projected[1][row.b * in.length + j];
      }
      largest = std::max(largest, p[j]);
    }
    for (double &value : p)
      sum += value = std::exp(value - largest);
    for (double &value : p)
      value /= sum;
    return p;
  }

  bool gated;
  std::vector<train::EncodingParameter> list;
};

} // namespace pe::test

#endif // PE_TEST_RUNTIME_TRAIN_NAIVEATTENTION_H
