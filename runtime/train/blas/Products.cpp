//===- Products.cpp - float32 matrix products of training -----------------===//
//
// LIBXSMM is column-major: our c = a b is its c^T = b^T a^T, on the same operands in memory.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/blas/Products.h"
#include "runtime/train/blas/Blas.h"

#include <algorithm>
#include <libxsmm.h>

namespace pe::blas {
namespace {

/// The maximum number of columns of b and c in one kernel call.
constexpr int64_t kColumns = 512;
/// The maximum reduction size of one kernel call, chosen so that its rows of b stay in the L2
/// cache.
constexpr int64_t kTerms = 512;
/// The same for rows of b that are at least 8 KiB apart and therefore share cache sets.
constexpr int64_t kFewTerms = 128, kFarPitch = 2048;
/// For two tall matrices: the number of elements of both that stay in the L2 cache.
constexpr int64_t kTallNumbers = 1 << 16;

/// Returns the reduction size of a block of two tall matrices, a multiple of 64.
int64_t tallTerms(int64_t m, int64_t n) {
  constexpr int64_t kUnit = 64;
  return std::clamp(kTallNumbers / std::max<int64_t>(m + n, 1) / kUnit * kUnit, kUnit, 4 * kUnit);
}

struct Product {
  int64_t m, n, k;
  int64_t pitchA, pitchB, pitchC;
  bool isTransposed, adds;
};

/// Computes the product of one block. LIBXSMM returns no kernel if its code generator does not
/// support the processor; OpenBLAS then computes the same product.
void run(const Product &p, const float *a, const float *b, float *c) {
  const auto narrow = [](int64_t size) { return static_cast<libxsmm_blasint>(size); };
  const libxsmm_blasint lda = narrow(p.pitchB), ldb = narrow(p.pitchA), ldc = narrow(p.pitchC);
  const float one = 1, beta = p.adds ? 1 : 0;
  const int flags = p.isTransposed ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
  const libxsmm_smmfunction kernel = libxsmm_smmdispatch(
      narrow(p.n), narrow(p.m), narrow(p.k), &lda, &ldb, &ldc, &one, &beta, &flags, nullptr);
  if (kernel)
    return kernel(b, a, c);
  const Transpose transpose = p.isTransposed ? Transpose::Yes : Transpose::No;
  gemm(p.m, p.n, p.k, {a, p.pitchA, transpose}, {b, p.pitchB}, beta, c, p.pitchC);
}

/// Divides a product into blocks of columns, and of the reduction in ascending order.
void runBlocks(Product whole, int64_t terms, const float *a, const float *b, float *c) {
  if (whole.k == 0 && !whole.adds)
    for (int64_t row = 0; row < whole.m; ++row)
      std::fill_n(c + row * whole.pitchC, whole.n, 0.0f);
  if (whole.m == 0)
    return;
  const int64_t stepA = whole.isTransposed ? whole.pitchA : 1;
  for (int64_t column = 0; column < whole.n; column += kColumns)
    for (int64_t term = 0; term < whole.k; term += terms) {
      Product block = whole;
      block.n = std::min(kColumns, whole.n - column);
      block.k = std::min(terms, whole.k - term);
      block.adds |= term > 0;
      run(block, a + term * stepA, b + term * whole.pitchB + column, c + column);
    }
}

} // namespace

void multiply(int64_t m, int64_t n, int64_t k, const float *a, int64_t pitchA, const float *b,
              int64_t pitchB, bool adds, float *c, int64_t pitchC) {
  runBlocks({m, n, k, pitchA, pitchB, pitchC, /*isTransposed=*/false, adds},
            pitchB < kFarPitch ? kTerms : kFewTerms, a, b, c);
}

void multiplyTransposed(int64_t m, int64_t n, int64_t k, const float *a, int64_t pitchA,
                        const float *b, int64_t pitchB, bool adds, float *c, int64_t pitchC) {
  runBlocks({m, n, k, pitchA, pitchB, pitchC, /*isTransposed=*/true, adds}, tallTerms(m, n), a, b,
            c);
}

void packPanels(const PanelShape &shape, const float *weights, int64_t begin, int64_t end,
                float *panels) {
  constexpr int64_t kLine = 16; // floats per cache line
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t width = shape.widthOf(panel);
    const float *from = weights + panel * PanelShape::kWidth * shape.inputs;
    float *to = panels + panel * PanelShape::kWidth * shape.inputs;
    for (int64_t first = 0; first < shape.inputs; first += kLine)
      for (int64_t i = first; i < std::min(first + kLine, shape.inputs); ++i)
        for (int64_t o = 0; o < width; ++o)
          to[i * width + o] = from[o * shape.inputs + i];
  }
}

void multiplyPanels(const PanelShape &shape, const float *x, int64_t rows, const float *panels,
                    bool adds, float *y, int64_t pitchY) {
  for (int64_t panel = 0; panel < shape.panels(); ++panel) {
    const int64_t first = panel * PanelShape::kWidth, width = shape.widthOf(panel);
    multiply(rows, width, shape.inputs, x, shape.inputs, panels + first * shape.inputs, width, adds,
             y + first, pitchY);
  }
}

} // namespace pe::blas
