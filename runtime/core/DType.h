//===- DType.h - Conversions between element types --------------*- C++ -*-===//
//
// The enumeration is public API (runtime/include/pe/DType.h). This header has the conversions of
// the 16-bit floating types, rounding ties to even, and of tf32, rounding ties away from zero, as
// in every kernel.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_DTYPE_H
#define PE_RUNTIME_CORE_DTYPE_H

#include "pe/DType.h"

namespace pe {

float bf16ToFloat(uint16_t bits);
uint16_t floatToBf16(float value);
float f16ToFloat(uint16_t bits);
uint16_t floatToF16(float value);
/// Rounds to ten mantissa bits, as cvt.rna.tf32.f32 does. NaN stays NaN.
float roundToTf32(float value);

} // namespace pe

#endif // PE_RUNTIME_CORE_DTYPE_H
