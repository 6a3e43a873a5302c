//===- Spectrum.h - Extreme eigenvalues by Lanczos --------------*- C++ -*-===//

#ifndef PE_RUNTIME_TRAIN_REINIT_SPECTRUM_H
#define PE_RUNTIME_TRAIN_REINIT_SPECTRUM_H

#include "pe/Parallel.h"

#include <cstdint>
#include <vector>

namespace pe::reinit {

struct Extremes {
  double least, most;
};

/// Estimates of the extreme eigenvalues of the symmetric a[n, n] (both triangles), from inside the
/// spectrum: `steps` Lanczos steps with full orthogonalisation from a seeded start. T is float or
/// double; vectors are double.
template <typename T>
Extremes extremeEigenvalues(ParallelFor &pool, int64_t n, const std::vector<T> &a, int64_t steps);

} // namespace pe::reinit

#endif // PE_RUNTIME_TRAIN_REINIT_SPECTRUM_H
