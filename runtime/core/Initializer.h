//===- Initializer.h - Parameters by their pe.init --------------*- C++ -*-===//
//
// The one parser of `pe.init`, for random inputs and for training.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_INITIALIZER_H
#define PE_RUNTIME_CORE_INITIALIZER_H

#include "runtime/core/Random.h"

#include <span>
#include <string>

namespace pe {

/// Fills `values` of a parameter of that shape as the text of its pe.init says: a number, "linear"
/// or "linear(fan_in)" (uniform within 1/sqrt(fan_in)), "xavier(gain)" (uniform within
/// gain sqrt(6 / (fan_in + fan_out))), "normal(deviation)", "uniform(low,high)",
/// "slopes(geometric)" (2^(-8 (h+1) / H) for element h of H). A vector [n] counts as [n, 1].
Status fillByInit(const std::string &init, const Shape &shape, std::span<float> values,
                  Random &random);

} // namespace pe

#endif // PE_RUNTIME_CORE_INITIALIZER_H
