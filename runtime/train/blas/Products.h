//===- Products.h - float32 matrix products of training ---------*- C++ -*-===//
//
// Layers of small models multiply a few hundred tokens by narrow matrices. A general BLAS packs
// both operands in every call, which for these shapes costs half as much as the product. LIBXSMM
// instead generates machine code for each size that reads the operands in place, at nearly the peak
// multiply-add rate.
//
// All matrices are row-major with a row stride of `pitch` elements. Every call is single-threaded,
// and the summation order of an element depends only on the sizes.
//
//   PanelShape shape{.outputs = 192, .inputs = 64};
//   packPanels(shape, weights, 0, shape.panels(), panels.data());
//   multiplyPanels(shape, x, 256, panels.data(), /*adds=*/false, y, 192); // y[256, 192] = x W^T
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_BLAS_PRODUCTS_H
#define PE_RUNTIME_TRAIN_BLAS_PRODUCTS_H

#include <cstdint>

namespace pe::blas {

/// Computes c[m,n] = a[m,k] b[k,n]; adds to c if `adds` is set.
void multiply(int64_t m, int64_t n, int64_t k, const float *a, int64_t pitchA, const float *b,
              int64_t pitchB, bool adds, float *c, int64_t pitchC);

/// Computes c[m,n] = a^T b for a[k,m] and b[k,n]; adds to c if `adds` is set.
void multiplyTransposed(int64_t m, int64_t n, int64_t k, const float *a, int64_t pitchA,
                        const float *b, int64_t pitchB, bool adds, float *c, int64_t pitchC);

/// The layout of W[outputs, inputs] as panels of 64 outputs, each transposed to [inputs, 64]; the
/// last panel may be narrower. The panels take as much memory as W. Panel p begins at offset
/// 64 p * inputs.
struct PanelShape {
  int64_t outputs = 0, inputs = 0;

  static constexpr int64_t kWidth = 64;
  int64_t panels() const { return (outputs + kWidth - 1) / kWidth; }
  int64_t widthOf(int64_t panel) const {
    return panel + 1 < panels() ? kWidth : outputs - panel * kWidth;
  }
};

/// Packs panels [begin, end) of `weights`.
void packPanels(const PanelShape &shape, const float *weights, int64_t begin, int64_t end,
                float *panels);

/// Computes y[rows, outputs] = x[rows, inputs] W^T; adds to y if `adds` is set.
void multiplyPanels(const PanelShape &shape, const float *x, int64_t rows, const float *panels,
                    bool adds, float *y, int64_t pitchY);

} // namespace pe::blas

#endif // PE_RUNTIME_TRAIN_BLAS_PRODUCTS_H
