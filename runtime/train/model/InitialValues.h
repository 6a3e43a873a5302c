//===- InitialValues.h - How a model starts ---------------------*- C++ -*-===//
//
// Weights before the first step, each parameter from its own random stream (seed and name), so a
// change of one leaves the others as they were.
//
//   embedding       normal, deviation 1
//   wq wk wv w1     normal, deviation 1 / sqrt(inputs)
//   wo w2           the same divided by sqrt(2 layers): the residual stream starts even
//   head            normal, deviation 0.02: the first predictions are nearly uniform
//   encoding        as the encoding's file says (pe.init)
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_INITIALVALUES_H
#define PE_RUNTIME_TRAIN_MODEL_INITIALVALUES_H

#include "runtime/core/Random.h"
#include "runtime/train/model/Decoder.h"

#include <span>

namespace pe::train {

/// Sets every parameter of the model; an error names an encoding's pe.init that makes no sense.
Status setInitialValues(Decoder &model, uint64_t seed);

/// Fills `values` of a parameter of that shape as the text of its pe.init says: a number, "linear"
/// or "linear(fan_in)" (uniform within 1/sqrt(fan_in)), "xavier(gain)" (uniform within
/// gain sqrt(6 / (fan_in + fan_out))), "normal(deviation)", "uniform(low,high)",
/// "slopes(geometric)" (2^(-8 (h+1) / H) for element h of H). A vector [n] counts as [n, 1].
Status fillByInit(const std::string &init, const Shape &shape, std::span<float> values,
                  Random &random);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_INITIALVALUES_H
