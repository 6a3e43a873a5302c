//===- Kernels.h - The compiled kernels of training -------------*- C++ -*-===//
//
// The operations of a training step other than attention and matrix products. They are written in
// the .mlir files of this directory, compiled by pe for this machine, and called as plain C
// functions. The .mlir files document what each kernel computes; this file declares their types.
// The kernels are single-threaded.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_KERNELS_KERNELS_H
#define PE_RUNTIME_TRAIN_KERNELS_KERNELS_H

#include "runtime/train/kernels/Activation.h"

namespace pe::train {

/// Widths and counts are multiples of this many elements, except the width of `crossEntropy`.
inline constexpr int64_t kKernelLanes = 8;

/// A normalization of rows. The backward kernel adds its gradient to `dx`.
struct NormKernels {
  void (*forward)(const float *x, float *y, float *inverse, int64_t rows, int64_t width);
  void (*backward)(const float *y, const float *inverse, const float *dy, float *dx, int64_t rows,
                   int64_t width);
};

enum class NormKind : uint8_t { Rms, Layer };

struct Kernels {
  NormKernels rmsNorm, layerNorm;
  /// The normalization that the model uses.
  NormKernels norm;
  ActivationKernels activation;
  void (*embeddingGather)(const float *table, const int32_t *tokens, float *y, int64_t rows,
                          int64_t width);
  void (*embeddingScatter)(const int32_t *tokens, const float *dy, float *dTable, int64_t rows,
                           int64_t width);
  void (*crossEntropy)(float *logits, const int32_t *targets, const float *weights, float *losses,
                       int64_t rows, int64_t width, int64_t pitch, float scale);
  void (*sumSquares)(const float *values, double *result, int64_t count);
  void (*adamw)(float *p, const float *g, float *m, float *v, int64_t count, float clip, float lr,
                float beta1, float beta2, float epsilon, float first, float second, float keep,
                float minimum);
  void (*muonMomentum)(const float *g, float *m, float *u, int64_t count, float momentum);
  void (*muonUpdate)(float *p, const float *u, int64_t count, float keep, float rate);
};

/// Returns the .mlir files as one module.
const std::string &kernelSource();

/// Looks up all functions except the activation's by symbol name. A missing symbol is an error.
Expected<Kernels> bindKernels(const SymbolLookup &lookup);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_KERNELS_KERNELS_H
