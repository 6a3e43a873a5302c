//===- Blas.h - OpenBLAS, loaded on demand and single-threaded --*- C++ -*-===//
//
// Matrix products of training and the factorisations of reinit. The library is opened with dlopen
// when first needed, for two reasons: pe runs without it unless it trains, and its choice of
// kernels can be corrected before it starts. OpenBLAS 0.3.21 does not know Zen 4 and 5 and treats
// them as Haswell, which halves the rate; on a machine with AVX-512 the SkylakeX kernels are
// requested instead, unless the user has set OPENBLAS_CORETYPE.
//
// All matrices are row-major. Every call runs on the calling thread alone (the work pool divides
// the work), so results do not depend on how many threads there are.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_BLAS_BLAS_H
#define PE_RUNTIME_TRAIN_BLAS_BLAS_H

#include "pe/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pe::blas {

/// Opens the library; later calls are free. Everything below needs one successful load first.
Status load();

/// The kernels OpenBLAS uses: "Haswell", "SkylakeX" ...
std::string coreName();

enum class Transpose : uint8_t { No, Yes };

/// A matrix in memory: `data`, its row stride in elements, and whether to read it transposed.
template <typename T> struct Operand {
  const T *data;
  int64_t pitch;
  Transpose transpose = Transpose::No;
};

/// c[m,n] = alpha * a[m,k] * b[k,n] + beta * c, with a and b as read (after their transposition).
void gemm(int64_t m, int64_t n, int64_t k, Operand<float> a, Operand<float> b, float beta, float *c,
          int64_t pitchC, float alpha = 1);
void gemm(int64_t m, int64_t n, int64_t k, Operand<double> a, Operand<double> b, double beta,
          double *c, int64_t pitchC, double alpha = 1);

/// gram[n,n] = x^T x for x[m,n]; only its upper triangle is written. Both may be parts of larger
/// matrices, whose row strides are given.
void gramUpper(int64_t m, int64_t n, const float *x, int64_t pitchX, float *gram,
               int64_t pitchGram);
void gramUpper(int64_t m, int64_t n, const double *x, int64_t pitchX, double *gram,
               int64_t pitchGram);

/// The upper triangle of a[n,n] becomes R with R^T R = a. False: a is not positive definite.
bool choleskyUpper(int64_t n, double *a, int64_t pitch);

/// x[m,n] = op(R)^-1 * x for an upper triangular r[m,m].
void solveLeft(int64_t m, int64_t n, const double *r, int64_t pitchR, Transpose transpose,
               double *x, int64_t pitchX);

/// The eigenvalues of the symmetric a[n,n] (upper triangle; destroyed), ascending. Empty: an
/// element is not finite.
std::vector<double> symmetricEigenvalues(int64_t n, double *a);

/// The numerical rank of the positive semidefinite a (upper triangle; destroyed), by Cholesky with
/// complete pivoting: pivots up to n * eps * the largest diagonal element count as zero.
int64_t rankOfGram(int64_t n, double *a);

} // namespace pe::blas

#endif // PE_RUNTIME_TRAIN_BLAS_BLAS_H
