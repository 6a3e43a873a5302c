//===- Reinit.h - Projecting weights onto scaled isometries -----*- C++ -*-===//
//
// What `pe reinit`, training and the public API (pe/reinit.h) share: one matrix, its scale and its
// report, and the two baselines that training compares the projection with. Reinit helps a network
// that memorised its first data to learn new data, and costs a healthy one a little;
// docs/numerics.md has the measurements.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REINIT_REINIT_H
#define PE_RUNTIME_TRAIN_REINIT_REINIT_H

#include "pe/reinit.h"

#include <span>

namespace pe::reinit {

/// What training does to a weight matrix. Project: this room's projection. ShrinkPerturb (Ash and
/// Adams 2020): shrink * W + (1 - shrink) * fresh initial values. Fresh: those values alone.
enum class Method : uint8_t { Project, ShrinkPerturb, Fresh };
Expected<Method> parseMethod(std::string_view name);

/// Which weights: all that a projection is meant for, or those of one kind of layer.
enum class Target : uint8_t { All, Attention, Mlp };
Expected<Target> parseTarget(std::string_view name);

/// Replaces the values of a matrix [rows, cols], whose elements are stored as `stored`, by its
/// scaled polar factor rounded to that type. A zero matrix is left alone (`chosen` false, `why`
/// "zero"). Weights that are not finite are an error naming the matrix, and stay unchanged. `sfe`
/// is the distance to `against`, or if that is empty to the weights before. Needs blas::load().
Expected<MatrixReport> projectValues(const std::string &name, int64_t rows, int64_t cols,
                                     std::span<double> w, DType stored, const Settings &settings,
                                     ParallelFor &pool, std::span<const double> against = {});

/// The same for w[rows = d_out, cols = d_in] of floats.
Expected<MatrixReport> projectMatrix(const std::string &name, int64_t rows, int64_t cols, float *w,
                                     const Settings &settings, ParallelFor &pool);

/// By the default engine, on the calling thread.
Expected<MatrixReport> projectMatrix(const std::string &name, int64_t rows, int64_t cols, float *w,
                                     Scale scale, uint64_t seed);

/// w <- shrink * w + (1 - shrink) * fresh, both [rows, cols], with a report.
Expected<MatrixReport> shrinkMatrix(const std::string &name, int64_t rows, int64_t cols, float *w,
                                    std::span<const float> fresh, double shrink);

/// Elements of a floating type in memory, as doubles and back, rounded to nearest.
void readValues(DType dtype, const void *from, std::span<double> to);
void writeValues(DType dtype, std::span<const double> from, void *to);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_REINIT_H
