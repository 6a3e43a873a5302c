//===- Dense.h - Matrix arithmetic in fixed tiles ---------------*- C++ -*-===//
//
// Products, Gram matrices, Cholesky factors and triangular solves of row-major matrices, split into
// tiles that depend on the sizes alone. The tiles are handed to a ParallelFor and each is one call
// of the single-threaded BLAS, so results are the same bits on any number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_DENSE_H
#define PE_RUNTIME_TRAIN_REINIT_DENSE_H

#include "pe/Parallel.h"

#include <cstdint>
#include <vector>

namespace pe::reinit {

using Matrix = std::vector<double>;

/// Runs every item on the calling thread.
class CallingThread final : public ParallelFor {
public:
  int threads() const override { return 1; }
  void run(int64_t items, Body body, void *context) override {
    for (int64_t item = 0; item < items; ++item)
      body(context, item);
  }
};

/// g[n,n] = x^T x for x[m,n]; only the upper triangle is written. T is float or double.
template <typename T>
void gramUpper(ParallelFor &pool, int64_t m, int64_t n, const T *x, std::vector<T> &g);

/// c[n,n] = a b for symmetric a and b of which both triangles are there and whose product is
/// symmetric, as that of powers of one matrix is; only the upper triangle is written.
void symmetricProduct(ParallelFor &pool, int64_t n, const float *a, const float *b, float *c);

/// Copies the upper triangle of g[n,n] to the lower one.
template <typename T> void mirrorUpper(ParallelFor &pool, int64_t n, std::vector<T> &g);

/// a[m,k] * b[k,n].
template <typename T>
std::vector<T> multiply(ParallelFor &pool, int64_t m, int64_t n, int64_t k, const T *a, const T *b);

/// scale x[m,n] + x b[n,n]: more accurate than the product with scale I + b, whose diagonal is
/// rounded.
template <typename T>
std::vector<T> multiplyAdd(ParallelFor &pool, int64_t m, int64_t n, const T *x, T scale,
                           const T *b);

/// The transpose of x[rows, cols].
Matrix transposed(ParallelFor &pool, int64_t rows, int64_t cols, const double *x);

/// The upper triangle of a[n,n] becomes R with R^T R = a. False: a is not positive definite.
bool choleskyUpper(ParallelFor &pool, int64_t n, Matrix &a);

/// x[m,n] <- direct x + inverse x (R^T R)^-1.
void addSolved(ParallelFor &pool, int64_t m, int64_t n, const Matrix &r, double direct,
               double inverse, Matrix &x);

/// x[m,n] <- x R^-1.
void solveRight(ParallelFor &pool, int64_t m, int64_t n, const Matrix &r, Matrix &x);

/// x[n,n] <- R^-1 x.
void solveLeft(ParallelFor &pool, int64_t n, const Matrix &r, Matrix &x);

/// |G - I|_F^2 of a symmetric matrix given by its upper triangle, with G scaled by `factor` first.
double deviationOfGram(int64_t n, const double *gram, double factor = 1);

/// An upper bound of the largest eigenvalue of a symmetric positive semidefinite matrix given by
/// its upper triangle: the smaller of its Frobenius norm and its largest absolute row sum.
template <typename T> double spectralBound(int64_t n, const std::vector<T> &gram);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_DENSE_H
