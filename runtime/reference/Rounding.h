//===- Rounding.h - Rounding to a narrow type -------------------*- C++ -*-===//

#ifndef PE_RUNTIME_REFERENCE_ROUNDING_H
#define PE_RUNTIME_REFERENCE_ROUNDING_H

#include "runtime/core/DType.h"

#include <vector>

namespace pe::reference {

/// Returns true if results are rounded: a 16-bit computation rounds operands and results, a tf32
/// computation only operands.
inline bool roundsResults(DType rounding) { return rounding != DType::TF32; }
/// Returns the largest relative error of rounding to the type.
inline double roundoffOf(DType dtype) { return dtype == DType::BF16 ? 0x1p-8 : 0x1p-11; }
/// Rounds to the nearest value of the type: bf16 and f16 with ties to even, tf32 with ties away
/// from zero.
inline double rounded(double value, DType dtype) {
  const float single = static_cast<float>(value);
  if (dtype == DType::TF32)
    return roundToTf32(single);
  return dtype == DType::BF16 ? bf16ToFloat(floatToBf16(single)) : f16ToFloat(floatToF16(single));
}

inline void roundAll(std::vector<double> &values, DType dtype) {
  for (double &value : values)
    value = rounded(value, dtype);
}

} // namespace pe::reference

#endif // PE_RUNTIME_REFERENCE_ROUNDING_H
