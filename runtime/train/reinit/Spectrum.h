//===- Spectrum.h - Extreme eigenvalues by the Lanczos method ---*- C++ -*-===//

#ifndef PE_RUNTIME_TRAIN_REINIT_SPECTRUM_H
#define PE_RUNTIME_TRAIN_REINIT_SPECTRUM_H

#include "pe/Parallel.h"

#include <cstdint>
#include <vector>

namespace pe::reinit {

struct Extremes {
  double least, most;
};

/// Estimates the extreme eigenvalues of the symmetric a[n, n] (both triangles) from inside the
/// spectrum, with `steps` Lanczos steps with full orthogonalization from a seeded start vector. T
/// is float or double; vectors are double.
template <typename T>
Extremes extremeEigenvalues(ParallelFor &pool, int64_t n, const std::vector<T> &a, int64_t steps);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_SPECTRUM_H
