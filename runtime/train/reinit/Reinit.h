//===- Reinit.h - Projecting weights onto scaled isometries -----*- C++ -*-===//
//
// The projection of one matrix with its scale and report, which `pe reinit`, training and the
// public API (pe/reinit.h) share, and the two baselines that training compares it with. Reinit
// helps a network that memorized its first data to learn new data, and slightly hurts a healthy
// network; docs/numerics.md has the measurements.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_REINIT_H
#define PE_RUNTIME_TRAIN_REINIT_REINIT_H

#include "pe/reinit.h"

#include <span>

namespace pe::reinit {

/// The change that training makes to a weight matrix. Project: projection as in this directory.
/// ShrinkPerturb (Ash and Adams 2020): shrink * W + (1 - shrink) * fresh initial values. Fresh:
/// fresh initial values.
enum class Method : uint8_t { Project, ShrinkPerturb, Fresh };
Expected<Method> parseMethod(std::string_view name);

/// The weights to change: all that projection is intended for, or those of one kind of layer.
enum class Target : uint8_t { All, Attention, Mlp };
Expected<Target> parseTarget(std::string_view name);

/// Replaces a matrix [rows, cols] by its scaled polar factor, rounded to `stored`, the type in
/// which its elements are stored. A zero matrix is unchanged (`chosen` is false, `why` is "zero").
/// Weights that are not finite are an error that names the matrix, and stay unchanged. `sfe` is the
/// squared distance to `against`, or to the old weights if that is empty. Requires blas::load().
Expected<MatrixReport> projectValues(const std::string &name, int64_t rows, int64_t cols,
                                     std::span<double> w, DType stored, const Settings &settings,
                                     ParallelFor &pool, std::span<const double> against = {});

/// Overload for float32 weights w[rows = d_out, cols = d_in].
Expected<MatrixReport> projectMatrix(const std::string &name, int64_t rows, int64_t cols, float *w,
                                     const Settings &settings, ParallelFor &pool);

/// Uses the default engine on the calling thread.
Expected<MatrixReport> projectMatrix(const std::string &name, int64_t rows, int64_t cols, float *w,
                                     Scale scale, uint64_t seed);

/// Computes w <- shrink * w + (1 - shrink) * fresh, both [rows, cols], and returns a report.
Expected<MatrixReport> shrinkMatrix(const std::string &name, int64_t rows, int64_t cols, float *w,
                                    std::span<const float> fresh, double shrink);

/// Convert elements of a floating-point type in memory to doubles and back, rounding to nearest.
void readValues(DType dtype, const void *from, std::span<double> to);
void writeValues(DType dtype, std::span<const double> from, void *to);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_REINIT_H
