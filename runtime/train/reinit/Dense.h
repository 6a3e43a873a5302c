//===- Dense.h - Matrix arithmetic in fixed tiles ---------------*- C++ -*-===//
//
// Products, Gram matrices, Cholesky factors and triangular solves of row-major matrices, divided
// into tiles that depend only on the sizes. A ParallelFor runs the tiles, each of which is one call
// of the single-threaded BLAS, so results are bitwise identical for any number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_DENSE_H
#define PE_RUNTIME_TRAIN_REINIT_DENSE_H

#include "pe/Parallel.h"

#include <cstdint>
#include <vector>

namespace pe::reinit {

using Matrix = std::vector<double>;

/// Runs all work items on the calling thread.
class CallingThread final : public ParallelFor {
public:
  int threads() const override { return 1; }
  void run(int64_t items, Body body, void *context) override {
    for (int64_t item = 0; item < items; ++item)
      body(context, item);
  }
};

/// Computes g[n,n] = x^T x for x[m,n]; only the upper triangle is written. T is float or double.
template <typename T>
void gramUpper(ParallelFor &pool, int64_t m, int64_t n, const T *x, std::vector<T> &g);

/// Computes c[n,n] = a b for symmetric a and b (both triangles are read) whose product is
/// symmetric, such as powers of one matrix. Only the upper triangle is written.
void symmetricProduct(ParallelFor &pool, int64_t n, const float *a, const float *b, float *c);

/// Copies the upper triangle of g[n,n] to the lower one.
template <typename T> void mirrorUpper(ParallelFor &pool, int64_t n, std::vector<T> &g);

/// Returns a[m,k] * b[k,n].
template <typename T>
std::vector<T> multiply(ParallelFor &pool, int64_t m, int64_t n, int64_t k, const T *a, const T *b);

/// Returns scale x[m,n] + x b[n,n]. This is more accurate than the product with scale I + b, whose
/// diagonal is rounded.
template <typename T>
std::vector<T> multiplyAdd(ParallelFor &pool, int64_t m, int64_t n, const T *x, T scale,
                           const T *b);

/// Returns the transpose of x[rows, cols].
Matrix transposed(ParallelFor &pool, int64_t rows, int64_t cols, const double *x);

/// Replaces the upper triangle of a[n,n] by R with R^T R = a. Returns false if a is not positive
/// definite.
bool choleskyUpper(ParallelFor &pool, int64_t n, Matrix &a);

/// x[m,n] <- direct x + inverse x (R^T R)^-1.
void addSolved(ParallelFor &pool, int64_t m, int64_t n, const Matrix &r, double direct,
               double inverse, Matrix &x);

/// x[m,n] <- x R^-1.
void solveRight(ParallelFor &pool, int64_t m, int64_t n, const Matrix &r, Matrix &x);

/// x[n,n] <- R^-1 x.
void solveLeft(ParallelFor &pool, int64_t n, const Matrix &r, Matrix &x);

/// Returns |G - I|_F^2, where G is `factor` times the symmetric matrix with the given upper
/// triangle.
double deviationOfGram(int64_t n, const double *gram, double factor = 1);

/// Returns an upper bound of the largest eigenvalue of the symmetric positive semidefinite matrix
/// with the given upper triangle: the smaller of its Frobenius norm and its largest absolute row
/// sum.
template <typename T> double spectralBound(int64_t n, const std::vector<T> &gram);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_DENSE_H
