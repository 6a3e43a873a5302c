//===- Triangle.h - Triangular solves by products ---------------*- C++ -*-===//
//
// x R^-1 and R^-1 x for an upper triangular R, by halves:
//
//   [x1 x2] [R11 R12]^-1 = [y1 y2],   y1 = x1 R11^-1,   y2 = (x2 - y1 R12) R22^-1,
//           [    R22]
//
// down to blocks of 32, whose inverses are computed first. So everything is a product: OpenBLAS's
// own solves reach less than half the rate of its products where it has AVX-512. Blocks are small
// because a product with an inverse loses what a solve keeps, the condition of the block.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_TRIANGLE_H
#define PE_RUNTIME_TRAIN_REINIT_TRIANGLE_H

#include "runtime/train/blas/Blas.h"

#include <vector>

namespace pe::reinit {

/// An upper triangular matrix in memory and the inverses of the blocks on its diagonal. The matrix
/// must stay; solves may run on any number of threads at once.
class Triangle {
public:
  using Transpose = blas::Transpose;

  Triangle(int64_t size, const double *r, int64_t pitch);

  /// x[rows, size] <- x op(R)^-1.
  void solveRight(int64_t rows, Transpose transpose, double *x, int64_t pitchX) const;

  /// x[size, cols] <- op(R)^-1 x.
  void solveLeft(int64_t cols, Transpose transpose, double *x, int64_t pitchX) const;

private:
  /// A part of R that lies on its diagonal.
  struct Range {
    int64_t begin, size;
    Range first() const;
    Range second() const;
  };
  /// Columns or rows of x that belong to one range of R.
  struct Strip {
    int64_t width, pitch;
    Transpose transpose;
    double *scratch;
  };

  void solveRight(Range range, const Strip &strip, double *x) const;
  void solveLeft(Range range, const Strip &strip, double *x) const;
  /// What R has right of the range's first half and above its second one.
  blas::Operand<double> across(Range range, Transpose transpose) const;
  blas::Operand<double> inverse(Range block, Transpose transpose) const;

  int64_t size, pitch;
  const double *r;
  std::vector<double> inverses;
};

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_TRIANGLE_H
