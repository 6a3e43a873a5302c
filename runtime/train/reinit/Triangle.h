//===- Triangle.h - Triangular solves by matrix products --------*- C++ -*-===//
//
// Computes x R^-1 and R^-1 x for an upper triangular R by recursive halving,
//
//   [x1 x2] [R11 R12]^-1 = [y1 y2],   y1 = x1 R11^-1,   y2 = (x2 - y1 R12) R22^-1,
//           [    R22]
//
// down to blocks of 32, whose inverses are precomputed. All work is thus done by products: with
// AVX-512, OpenBLAS's solves reach less than half the rate of its products. Blocks are small
// because a product with an inverse is less accurate than a solve, by the condition number of the
// block.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_TRIANGLE_H
#define PE_RUNTIME_TRAIN_REINIT_TRIANGLE_H

#include "runtime/train/blas/Blas.h"

#include <vector>

namespace pe::reinit {

/// An upper triangular matrix in memory with the inverses of its diagonal blocks. The matrix must
/// outlive this object. Solves may run concurrently.
class Triangle {
public:
  using Transpose = blas::Transpose;

  Triangle(int64_t size, const double *r, int64_t pitch);

  /// x[rows, size] <- x op(R)^-1.
  void solveRight(int64_t rows, Transpose transpose, double *x, int64_t pitchX) const;

  /// x[size, cols] <- op(R)^-1 x.
  void solveLeft(int64_t cols, Transpose transpose, double *x, int64_t pitchX) const;

private:
  /// A diagonal block of R.
  struct Range {
    int64_t begin, size;
    Range first() const;
    Range second() const;
  };
  /// The columns or rows of x that correspond to a range of R.
  struct Strip {
    int64_t width, pitch;
    Transpose transpose;
    double *scratch;
  };

  void solveRight(Range range, const Strip &strip, double *x) const;
  void solveLeft(Range range, const Strip &strip, double *x) const;
  /// Returns the off-diagonal block of a range: right of its first half and above its second half.
  blas::Operand<double> across(Range range, Transpose transpose) const;
  blas::Operand<double> inverse(Range block, Transpose transpose) const;

  int64_t size, pitch;
  const double *r;
  std::vector<double> inverses;
};

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_TRIANGLE_H
