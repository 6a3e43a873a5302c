//===- Matrices.h - Small matrices for tests of reinit ----------*- C++ -*-===//
//
// Straightforward dense matrices in double: products, random orthonormal frames by Gram-Schmidt,
// and matrices with a given spectrum. Independent of the library under test.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_RUNTIME_TRAIN_MATRICES_H
#define PE_TEST_RUNTIME_TRAIN_MATRICES_H

#include "runtime/core/Random.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace pe::test {

struct Matrix {
  int64_t rows = 0, cols = 0;
  std::vector<double> values;

  Matrix(int64_t rows, int64_t cols) : rows(rows), cols(cols), values(rows * cols) {}
  double &at(int64_t i, int64_t j) { return values[i * cols + j]; }
  double at(int64_t i, int64_t j) const { return values[i * cols + j]; }
};

inline Matrix gaussian(int64_t rows, int64_t cols, uint64_t seed) {
  Matrix result(rows, cols);
  Random random(seed, "matrix");
  for (double &value : result.values)
    value = random.normal();
  return result;
}

inline Matrix product(const Matrix &a, const Matrix &b) {
  Matrix result(a.rows, b.cols);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t k = 0; k < a.cols; ++k)
      for (int64_t j = 0; j < b.cols; ++j)
        result.at(i, j) += a.at(i, k) * b.at(k, j);
  return result;
}

inline Matrix transpose(const Matrix &a) {
  Matrix result(a.cols, a.rows);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.cols; ++j)
      result.at(j, i) = a.at(i, j);
  return result;
}

/// Orthonormalizes the columns from the first on: Gram-Schmidt, applied twice for accuracy.
inline Matrix orthonormalized(const Matrix &a) {
  Matrix columns = transpose(a);
  const int64_t rows = a.rows, cols = a.cols;
  for (int pass = 0; pass < 2; ++pass)
    for (int64_t j = 0; j < cols; ++j) {
      for (int64_t other = 0; other < j; ++other) {
        double overlap = 0;
        for (int64_t i = 0; i < rows; ++i)
          overlap += columns.at(j, i) * columns.at(other, i);
        for (int64_t i = 0; i < rows; ++i)
          columns.at(j, i) -= overlap * columns.at(other, i);
      }
      double norm = 0;
      for (int64_t i = 0; i < rows; ++i)
        norm += columns.at(j, i) * columns.at(j, i);
      for (int64_t i = 0; i < rows; ++i)
        columns.at(j, i) /= std::sqrt(norm);
    }
  return transpose(columns);
}

/// Returns a rows x cols matrix with orthonormal columns, rows >= cols.
inline Matrix frame(int64_t rows, int64_t cols, uint64_t seed) {
  return orthonormalized(gaussian(rows, cols, seed));
}

/// Returns left * diag(spectrum) * right^T.
inline Matrix compose(const Matrix &left, const std::vector<double> &spectrum,
                      const Matrix &right) {
  Matrix scaled = left;
  for (int64_t i = 0; i < left.rows; ++i)
    for (int64_t j = 0; j < left.cols; ++j)
      scaled.at(i, j) *= spectrum[j];
  return product(scaled, transpose(right));
}

/// Returns log-uniform values from 1 down to 1 / condition.
inline std::vector<double> spectrumOf(int64_t count, double condition) {
  std::vector<double> result(count);
  for (int64_t i = 0; i < count; ++i)
    result[i] = std::pow(condition, -static_cast<double>(i) / std::max<int64_t>(count - 1, 1));
  return result;
}

inline double distance(const Matrix &a, const Matrix &b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i)
    sum += (a.values[i] - b.values[i]) * (a.values[i] - b.values[i]);
  return std::sqrt(sum);
}

} // namespace pe::test

#endif // PE_TEST_RUNTIME_TRAIN_MATRICES_H
