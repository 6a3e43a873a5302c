//===- reinit.h - Projecting weights onto scaled isometries -----*- C++ -*-===//
//
// Reinit (the Frobenius-isometry projection, Han et al. 2026, arXiv 2602.08040) replaces a weight
// matrix by its orthogonal polar factor times a scale: it keeps the directions that training found
// and flattens the spectrum.
//
//   pe::Tensor weights = ...;                                      // [out, in], f32
//   auto reports = pe::reinit::project(pe::viewOf("w", weights), {});
//   if (!reports) ...                                              // NaN: named, nothing changed
//   std::puts(pe::reinit::describe(reports->front()).c_str());
//
// The products are OpenBLAS (package libopenblas0-pthread), loaded by the first call. Results are
// the same bits on any number of threads. Example: examples/reinit. Checkpoints: `pe reinit`.
//
//===----------------------------------------------------------------------===//

#ifndef PE_REINIT_H
#define PE_REINIT_H

#include "pe/Parallel.h"
#include "pe/View.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace pe::reinit {

/// How the polar factor is computed. Qdwh: float64, at most four steps, exact for every condition
/// up to a million; for what is stored as floats the last step is in floats. Quintic: float32,
/// products only, adaptive. Cubic: the published operators, which stop after `iterations` steps
/// whether or not an isometry has been reached.
enum class Engine : uint8_t { Qdwh, Quintic, Cubic };

/// What Cubic divides by first: the Frobenius norm or the largest singular value.
enum class Norm : uint8_t { Fro, Spectral };

/// What the polar factor is multiplied by. Muon: sqrt(d_out / d_in). None: 1. MeanSigma: the mean
/// singular value, which gives the nearest scaled isometry. Fro: |W|_F / sqrt(min(d_out, d_in)),
/// which keeps the Frobenius norm.
enum class Scale : uint8_t { Muon, None, MeanSigma, Fro };

/// Which axis of a matrix in memory is d_out: that of its rows (PyTorch's nn.Linear) or of its
/// columns (JAX kernels, GPT-2's Conv1D).
enum class Layout : uint8_t { OutIn, InOut };

struct Settings {
  Engine engine = Engine::Qdwh;
  /// Of Cubic.
  int iterations = 10;
  Norm norm = Norm::Fro;
  Scale scale = Scale::Muon;
  Layout layout = Layout::OutIn;
  /// Of the noise that completes rank-deficient matrices.
  uint64_t seed = 0;
};

/// The outcome for one matrix.
struct MatrixReport {
  std::string name;
  /// As in memory.
  std::array<int64_t, 2> shape{};
  /// False: left unchanged, and `why` says why.
  bool chosen = false;
  std::string why;
  /// |X^T X - I|_F^2 per dimension of the smaller side, of the original weights and of the polar
  /// factor before scaling, rounded to the type of the weights.
  double dfiBefore = 0, dfiAfter = 0;
  /// |W - W_new|_F^2.
  double sfe = 0;
  /// |W|_F before.
  double norm = 0;
  int iterations = 0;
  int64_t rank = 0;
  double scale = 0;
};

/// Replaces the matrix [rows, cols], or each matrix of a stack [count, rows, cols], by its scaled
/// polar factor, in the caller's memory: contiguous, f32, f64, bf16 or f16. A zero matrix is left
/// alone (`why` is "zero"). After an error (values that are not finite, named with their place)
/// nothing has been changed. Threads are `parallel`'s, or pe's own.
Expected<std::vector<MatrixReport>> project(const View &weights, const Settings &settings,
                                            ParallelFor *parallel = nullptr);

/// One human-readable line: "layer0.wq 64x64: |W| 8, DfI/n 1.2e+00 -> 3e-15, SFE 12.3, ...".
std::string describe(const MatrixReport &report);

std::string_view nameOf(Engine engine);
std::string_view nameOf(Scale scale);
Expected<Engine> parseEngine(std::string_view name);
Expected<Norm> parseNorm(std::string_view name);
Expected<Scale> parseScale(std::string_view name);
Expected<Layout> parseLayout(std::string_view name);

} // namespace pe::reinit

#endif // PE_REINIT_H
