//===- Initializer.h - Initial values of parameters -------------*- C++ -*-===//
//
// Parses `pe.init` and draws the values, for random inputs and for training.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CORE_INITIALIZER_H
#define PE_RUNTIME_CORE_INITIALIZER_H

#include "runtime/core/Random.h"

#include <span>
#include <string>

namespace pe {

/// Fills the `values` of a parameter of shape `shape` according to its pe.init: a number; "linear"
/// or "linear(fan_in)" (uniform within 1/sqrt(fan_in)); "xavier(gain)" (uniform within
/// gain sqrt(6 / (fan_in + fan_out))); "normal(deviation)"; "uniform(low,high)";
/// "integers(low,high)" (uniform integers in [low, high)); "slopes(geometric)" (2^(-8 (h+1) / H)
/// for element h of H). A vector [n] counts as [n, 1]. Other text is an error.
Status fillByInit(const std::string &init, const Shape &shape, std::span<float> values,
                  Random &random);

} // namespace pe

#endif // PE_RUNTIME_CORE_INITIALIZER_H
