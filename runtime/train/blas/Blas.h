//===- Blas.h - OpenBLAS, loaded on demand and single-threaded --*- C++ -*-===//
//
// Matrix products of training and the factorizations of reinit. The library is opened with dlopen
// on first use, for two reasons: pe does not depend on it except for training, and its choice of
// kernels can be corrected before it starts. OpenBLAS 0.3.21 does not recognize Zen 4 and Zen 5 and
// treats them as Haswell, which halves the rate; on a machine with AVX-512 the SkylakeX kernels are
// requested instead, unless the user has set OPENBLAS_CORETYPE.
//
// All matrices are row-major. Every call is single-threaded (the work pool divides the work), so
// results do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_BLAS_BLAS_H
#define PE_RUNTIME_TRAIN_BLAS_BLAS_H

#include "pe/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pe::blas {

/// Opens the library; later calls return at once. Everything below requires one successful load.
Status load();

/// Returns the name of the kernels that OpenBLAS uses: "Haswell", "SkylakeX" ...
std::string coreName();

enum class Transpose : uint8_t { No, Yes };

/// A matrix in memory: `data`, the row stride in elements, and whether it is read transposed.
template <typename T> struct Operand {
  const T *data;
  int64_t pitch;
  Transpose transpose = Transpose::No;
};

/// Computes c[m,n] = alpha * a[m,k] * b[k,n] + beta * c, where a[m,k] and b[k,n] are the operands
/// after their transposition.
void gemm(int64_t m, int64_t n, int64_t k, Operand<float> a, Operand<float> b, float beta, float *c,
          int64_t pitchC, float alpha = 1);
void gemm(int64_t m, int64_t n, int64_t k, Operand<double> a, Operand<double> b, double beta,
          double *c, int64_t pitchC, double alpha = 1);

/// Computes gram[n,n] = x^T x for x[m,n]; only the upper triangle is written. Both may be
/// submatrices, with the given row strides.
void gramUpper(int64_t m, int64_t n, const float *x, int64_t pitchX, float *gram,
               int64_t pitchGram);
void gramUpper(int64_t m, int64_t n, const double *x, int64_t pitchX, double *gram,
               int64_t pitchGram);

/// Replaces the upper triangle of a[n,n] by R with R^T R = a. Returns false if a is not positive
/// definite.
bool choleskyUpper(int64_t n, double *a, int64_t pitch);

/// Computes x[m,n] = op(R)^-1 * x for an upper triangular r[m,m].
void solveLeft(int64_t m, int64_t n, const double *r, int64_t pitchR, Transpose transpose,
               double *x, int64_t pitchX);

/// Returns the eigenvalues of the symmetric a[n,n] (upper triangle; destroyed) in ascending order,
/// or an empty vector if an element is not finite.
std::vector<double> symmetricEigenvalues(int64_t n, double *a);

/// Returns the numerical rank of the positive semidefinite a (upper triangle; destroyed), by
/// Cholesky with complete pivoting: pivots up to n * eps * the largest diagonal element count as
/// zero.
int64_t rankOfGram(int64_t n, double *a);

} // namespace pe::blas

#endif // PE_RUNTIME_TRAIN_BLAS_BLAS_H
