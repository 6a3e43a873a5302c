//===- reinit.h - Projecting weights onto scaled isometries -----*- C++ -*-===//
//
// Reinit (the Frobenius-isometry projection, Han et al. 2026, arXiv 2602.08040) replaces a weight
// matrix by its orthogonal polar factor times a scale: it keeps the directions that training found
// and flattens the spectrum.
//
//   pe::Tensor weights = ...;                                      // [out, in], f32
//   auto reports = pe::reinit::project(pe::viewOf("w", weights), {});
//   if (!reports) ...                       // such as a NaN: reported; the weights are unchanged
//   std::puts(pe::reinit::describe(reports->front()).c_str());
//
// Matrix products use OpenBLAS (package libopenblas0-pthread), loaded by the first call. Results
// are bitwise equal for any number of threads. Example: examples/reinit. The command `pe reinit`
// does the same to checkpoints.
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

/// The algorithm that computes the polar factor. Qdwh: float64, at most four steps, accurate up to
/// a condition number of 10^6; for weights of 32 bits or fewer the last step is in float32.
/// Quintic: float32, an adaptive iteration of matrix products only. Cubic: the published operators,
/// which stop after `iterations` steps whether or not the result is an isometry.
enum class Engine : uint8_t { Qdwh, Quintic, Cubic };

/// The norm that Cubic divides by first: the Frobenius norm or the largest singular value.
enum class Norm : uint8_t { Fro, Spectral };

/// The factor on the polar factor. Muon: sqrt(d_out / d_in). None: 1. MeanSigma: the mean
/// singular value, which gives the nearest scaled isometry. Fro: |W|_F / sqrt(min(d_out, d_in)),
/// which keeps the Frobenius norm.
enum class Scale : uint8_t { Muon, None, MeanSigma, Fro };

/// The axis of a matrix in memory that is d_out: its rows (PyTorch's nn.Linear) or its columns
/// (JAX kernels, GPT-2's Conv1D).
enum class Layout : uint8_t { OutIn, InOut };

/// The options of a projection.
struct Settings {
  Engine engine = Engine::Qdwh;
  /// Cubic only, as is `norm`.
  int iterations = 10;
  Norm norm = Norm::Fro;
  Scale scale = Scale::Muon;
  Layout layout = Layout::OutIn;
  /// Seeds the noise that completes rank-deficient matrices.
  uint64_t seed = 0;
};

/// The outcome for one matrix.
struct MatrixReport {
  std::string name;
  /// Rows and columns in memory.
  std::array<int64_t, 2> shape{};
  /// False if the matrix was left unchanged, for the reason `why`.
  bool chosen = false;
  std::string why;
  /// |X^T X - I|_F^2 per dimension of the smaller side, for the original weights and for the polar
  /// factor before scaling, rounded to the type of the weights.
  double dfiBefore = 0, dfiAfter = 0;
  /// |W - W_new|_F^2.
  double sfe = 0;
  /// |W|_F before.
  double norm = 0;
  int iterations = 0;
  /// The numerical rank of the original weights.
  int64_t rank = 0;
  double scale = 0;
};

/// Replaces the matrix [rows, cols], or each matrix of a stack [count, rows, cols], by its scaled
/// polar factor, in place: contiguous, f32, f64, bf16 or f16. A zero matrix is left unchanged
/// (`why` is "zero"). If a value is not finite, the error names its place; after any error the
/// weights are unchanged. Runs on `parallel`, or on pe's own threads if it is null.
Expected<std::vector<MatrixReport>> project(const View &weights, const Settings &settings,
                                            ParallelFor *parallel = nullptr);

/// Formats one line: "layer0.wq 64x64: |W| 8, DfI/n 1.2e+00 -> 3e-15, SFE 12.3, ...".
std::string describe(const MatrixReport &report);

/// Returns the name of a value as the command line spells it: "qdwh", "mean-sigma" ...
std::string_view nameOf(Engine engine);
std::string_view nameOf(Scale scale);
/// Parses a name; the error lists the valid names.
Expected<Engine> parseEngine(std::string_view name);
Expected<Norm> parseNorm(std::string_view name);
Expected<Scale> parseScale(std::string_view name);
Expected<Layout> parseLayout(std::string_view name);

} // namespace pe::reinit

#endif // PE_REINIT_H
