//===- DenseAttention.cpp - attention by its formulas, in double ----------===//
#include "passes/ToLoops/DenseAttention.h"

#include <cmath>
#include <limits>
#include <random>

namespace pe::test {

void DenseAttention::draw(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  int64_t rows = sizes.batch * sizes.queryHeads * sizes.queries;
  int64_t keys = sizes.batch * sizes.keyHeads * sizes.keys;
  q.resize(rows * headDim);
  k.resize(keys * headDim);
  v.resize(keys * valueDim);
  dO.resize(rows * valueDim);
  for (std::vector<float> *values : {&q, &k, &v, &dO})
    for (float &x : *values)
      x = normal(random);
}

int64_t DenseAttention::queryRow(const Head &head, int64_t row) const {
  return (head.b * sizes.queryHeads + head.h) * sizes.queries + row;
}
int64_t DenseAttention::keyRow(const Head &head, int64_t column) const {
  return (head.b * sizes.keyHeads + head.keyHead) * sizes.keys + column;
}
int64_t DenseAttention::pair(int64_t b, int64_t h, int64_t row, int64_t column) const {
  return ((b * sizes.queryHeads + h) * sizes.queries + row) * sizes.keys + column;
}

bool DenseAttention::attends(int64_t row, int64_t column) const {
  int64_t i = row + sizes.queryStart, j = column + sizes.keyStart;
  return i >= 0 && inMask(i, j);
}

void DenseAttention::forEachHead(const std::function<void(const Head &)> &body) {
  int64_t group = sizes.queryHeads / sizes.keyHeads;
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.queryHeads; ++h)
      body({b, h, h / group});
}

void DenseAttention::clear() {
  o.assign(dO.size(), 0);
  dq.assign(q.size(), 0);
  dk.assign(k.size(), 0);
  dv.assign(v.size(), 0);
  int64_t rows = sizes.batch * sizes.queryHeads * sizes.queries;
  lse.assign(rows, -std::numeric_limits<double>::infinity());
  dS.assign(rows * sizes.keys, 0);
}

double DenseAttention::score(const Head &head, int64_t row, int64_t column) const {
  double sum = 0;
  for (int64_t d = 0; d < headDim; ++d)
    sum += double(q[queryRow(head, row) * headDim + d]) * k[keyRow(head, column) * headDim + d];
  return scale * sum + bias(head.b, head.h, row, column);
}

double DenseAttention::dotWithCotangent(const Head &head, int64_t row, int64_t column) const {
  double sum = 0;
  for (int64_t e = 0; e < valueDim; ++e)
    sum += double(dO[queryRow(head, row) * valueDim + e]) * v[keyRow(head, column) * valueDim + e];
  return sum;
}

void DenseAttention::addOutput(const Head &head, int64_t row, int64_t column, double weight) {
  for (int64_t e = 0; e < valueDim; ++e)
    o[queryRow(head, row) * valueDim + e] += weight * v[keyRow(head, column) * valueDim + e];
}

void DenseAttention::addGradients(const Head &head, int64_t row, int64_t column, double weight,
                                  double dScore) {
  int64_t queryAt = queryRow(head, row), keyAt = keyRow(head, column);
  for (int64_t d = 0; d < headDim; ++d) {
    dq[queryAt * headDim + d] += scale * dScore * k[keyAt * headDim + d];
    dk[keyAt * headDim + d] += scale * dScore * q[queryAt * headDim + d];
  }
  for (int64_t e = 0; e < valueDim; ++e)
    dv[keyAt * valueDim + e] += weight * dO[queryAt * valueDim + e];
  dS[pair(head.b, head.h, row, column)] = dScore;
}

/// A = softmax, dS = A * (dA - sum A dA).
void DenseAttention::runSoftmax() {
  clear();
  forEachHead([&](const Head &head) {
    for (int64_t row = 0; row < sizes.queries; ++row) {
      std::vector<double> weight(sizes.keys);
      double largest = -std::numeric_limits<double>::infinity(), total = 0, mean = 0;
      for (int64_t j = 0; j < sizes.keys; ++j)
        if (attends(row, j))
          largest = std::max(largest, weight[j] = score(head, row, j));
      for (int64_t j = 0; j < sizes.keys; ++j)
        if (attends(row, j))
          total += weight[j] = std::exp(weight[j] - largest);
      if (total == 0)
        continue;
      lse[queryRow(head, row)] = largest + std::log(total);
      for (int64_t j = 0; j < sizes.keys; ++j)
        if (attends(row, j))
          mean += (weight[j] /= total) * dotWithCotangent(head, row, j);
      for (int64_t j = 0; j < sizes.keys; ++j)
        if (attends(row, j)) {
          addOutput(head, row, j, weight[j]);
          double dScore = weight[j] * (dotWithCotangent(head, row, j) - mean);
          addGradients(head, row, j, weight[j], dScore);
        }
    }
  });
}

/// A_j = beta_j * product of (1 - beta_l) over l > j, so dz_j = A_j (1 - beta_j) dA_j - beta_j *
/// sum of A_l dA_l over l < j.
void DenseAttention::runStickBreaking() {
  clear();
  forEachHead([&](const Head &head) {
    for (int64_t row = 0; row < sizes.queries; ++row) {
      std::vector<double> beta(sizes.keys), weight(sizes.keys);
      for (int64_t j = sizes.keys; j-- > 0;) {
        if (!attends(row, j))
          continue;
        beta[j] = 1 / (1 + std::exp(-score(head, row, j)));
        weight[j] = beta[j];
        for (int64_t l = j + 1; l < sizes.keys; ++l)
          weight[j] *= 1 - beta[l];
      }
      for (int64_t j = 0; j < sizes.keys; ++j) {
        if (!attends(row, j))
          continue;
        double older = 0;
        for (int64_t l = 0; l < j; ++l)
          if (attends(row, l))
            older += weight[l] * dotWithCotangent(head, row, l);
        double dScore =
            weight[j] * (1 - beta[j]) * dotWithCotangent(head, row, j) - beta[j] * older;
        addOutput(head, row, j, weight[j]);
        addGradients(head, row, j, weight[j], dScore);
      }
    }
  });
}

} // namespace pe::test
