//===- Products.h - float32 products of training ----------------*- C++ -*-===//
//
// Layers of small models multiply a few hundred tokens by narrow matrices. A general library packs
// both operands of every call, which for such shapes costs half as much as the product; LIBXSMM
// writes machine code for each size instead, which reads the operands where they lie, at nearly the
// peak of multiply-adds.
//
// All matrices are row-major, `pitch` elements from row to row. Every call runs on the calling
// thread alone, and an element's sum is taken in an order that depends on the sizes alone.
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

/// c[m,n] = a[m,k] b[k,n], or plus what c holds.
void multiply(int64_t m, int64_t n, int64_t k, const float *a, int64_t pitchA, const float *b,
              int64_t pitchB, bool adds, float *c, int64_t pitchC);

/// c[m,n] = a^T b for a[k,m] and b[k,n], or plus what c holds.
void multiplyTransposed(int64_t m, int64_t n, int64_t k, const float *a, int64_t pitchA,
                        const float *b, int64_t pitchB, bool adds, float *c, int64_t pitchC);

/// W[outputs, inputs] as panels of 64 outputs, each transposed: [inputs, 64], the last one
/// narrower. They take as much room as W; panel p begins at 64 p * inputs.
struct PanelShape {
  int64_t outputs = 0, inputs = 0;

  static constexpr int64_t kWidth = 64;
  int64_t panels() const { return (outputs + kWidth - 1) / kWidth; }
  int64_t widthOf(int64_t panel) const {
    return panel + 1 < panels() ? kWidth : outputs - panel * kWidth;
  }
};

/// Writes panels [begin, end) of `weights`.
void packPanels(const PanelShape &shape, const float *weights, int64_t begin, int64_t end,
                float *panels);

/// y[rows, outputs] = x[rows, inputs] W^T, or plus what y holds.
void multiplyPanels(const PanelShape &shape, const float *x, int64_t rows, const float *panels,
                    bool adds, float *y, int64_t pitchY);

} // namespace pe::blas

#endif // PE_RUNTIME_TRAIN_BLAS_PRODUCTS_H
