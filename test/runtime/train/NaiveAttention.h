//===- NaiveAttention.h - Naive attention for tests -------------*- C++ -*-===//
//
// Causal softmax attention with the bias -slopes[h] * (i - j) + lift[] * j and, if `gated`, gates
// f[b, h, i] - f[b, h, j] + marks[b, j], forward and backward in double. Replaces compiled
// attention in tests of the model and the trainer.
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

  Status forward(const train::AttentionInputs &in, const train::HeadRows<float> &o) override {
    forEachRow(in, [&](const Row &row) {
      std::vector<double> p = probabilities(in, row);
      for (int64_t d = 0; d < in.headDim; ++d) {
        double sum = 0;
        for (int64_t j = 0; j <= row.i; ++j)
          sum += p[j] * row.key(in, in.v, j)[d];
        row.query(in, o)[d] = static_cast<float>(sum);
      }
    });
    return Status::success();
  }

  Status backward(const train::AttentionInputs &in, const train::HeadRows<const float> &dO,
                  const train::AttentionGradients &out) override {
    const int64_t tokens = in.batch * in.length, queryDim = in.heads * in.headDim,
                  keyDim = in.keyHeads * in.headDim;
    std::vector<double> dQ(tokens * queryDim), dK(tokens * keyDim), dV(tokens * keyDim);
    const train::HeadRows<double> toQ{dQ.data(), queryDim}, toK{dK.data(), keyDim},
        toV{dV.data(), keyDim};
    std::vector<double> dSlopes(in.heads);
    std::vector<double> dF(gated ? in.batch * in.heads * in.length : 0);
    std::vector<double> dMarks(gated ? in.batch * in.length : 0);
    double dLift = 0, scale = 1 / std::sqrt(static_cast<double>(in.headDim));
    forEachRow(in, [&](const Row &row) {
      std::vector<double> p = probabilities(in, row), dP(row.i + 1);
      const float *dRow = row.query(in, dO);
      double mean = 0;
      for (int64_t j = 0; j <= row.i; ++j) {
        for (int64_t d = 0; d < in.headDim; ++d) {
          dP[j] += static_cast<double>(dRow[d]) * row.key(in, in.v, j)[d];
          row.key(in, toV, j)[d] += p[j] * dRow[d];
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
          row.query(in, toQ)[d] += dS * scale * row.key(in, in.k, j)[d];
          row.key(in, toK, j)[d] += dS * scale * row.query(in, in.q)[d];
        }
      }
    });
    store(toQ, tokens, queryDim, out.dQ);
    store(toK, tokens, keyDim, out.dK);
    store(toV, tokens, keyDim, out.dV);
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
    template <typename Float>
    Float *query(const train::AttentionInputs &in, const train::HeadRows<Float> &rows) const {
      return rows.at(b * in.length + i, h * in.headDim);
    }
    template <typename Float>
    Float *key(const train::AttentionInputs &in, const train::HeadRows<Float> &rows,
               int64_t j) const {
      return rows.at(b * in.length + j, h / (in.heads / in.keyHeads) * in.headDim);
    }
  };

  static void store(const train::HeadRows<double> &from, int64_t tokens, int64_t width,
                    const train::HeadRows<float> &to) {
    for (int64_t token = 0; token < tokens; ++token)
      std::copy_n(from.at(token), width, to.at(token));
  }

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
        score += static_cast<double>(row.query(in, in.q)[d]) * row.key(in, in.k, j)[d];
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
