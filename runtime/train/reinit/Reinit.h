//===- Reinit.h - Projecting weights onto scaled isometries -----*- C++ -*-===//
//
// Reinit (the Frobenius-isometry projection, Han et al. 2026, arXiv 2602.08040) replaces a weight
// matrix by its polar factor times a scale: it keeps the directions that training found and
// flattens the spectrum. It helps a network that memorised its first data to learn new data, and
// costs a healthy one a little; docs/numerics.md has the measurements.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_REINIT_H
#define PE_RUNTIME_TRAIN_REINIT_REINIT_H

#include "pe/Error.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pe::reinit {

/// What the polar factor is multiplied by. Muon: sqrt(d_out / d_in). None: 1. MeanSigma: the mean
/// singular value, which gives the nearest scaled isometry. Fro: |W|_F / sqrt(min(d_out, d_in)),
/// which keeps the Frobenius norm.
enum class Scale : uint8_t { Muon, None, MeanSigma, Fro };

std::string_view nameOf(Scale scale);
Expected<Scale> parseScale(std::string_view name);

/// The outcome for one matrix.
struct MatrixReport {
  std::string name;
  /// [d_out, d_in].
  std::array<int64_t, 2> shape{};
  /// False: left unchanged, and `why` says why.
  bool chosen = false;
  std::string why;
  /// |X^T X - I|_F^2 per dimension of the smaller side, of the original weights and of the polar
  /// factor before scaling.
  double dfiBefore = 0, dfiAfter = 0;
  /// |W - W_new|_F^2.
  double sfe = 0;
  /// |W|_F before.
  double norm = 0;
  int iterations = 0;
  int64_t rank = 0;
  double scale = 0;
};

/// Replaces w[rows = d_out, cols = d_in] by its scaled polar factor. A zero matrix is left alone
/// (`chosen` false, `why` "zero"). Weights that are not finite are an error naming the parameter,
/// and stay unchanged. Needs blas::load().
Expected<MatrixReport> projectMatrix(const std::string &name, int64_t rows, int64_t cols, float *w,
                                     Scale scale, uint64_t seed);

/// One human-readable line: "layer0.wq 64x64: DfI/n 1.2e+00 -> 3e-15, SFE 12.3, scale 1, rank 64".
std::string describe(const MatrixReport &report);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_REINIT_H
