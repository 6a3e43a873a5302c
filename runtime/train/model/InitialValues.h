//===- InitialValues.h - How a model starts ---------------------*- C++ -*-===//
//
// Weights before the first step, each parameter from its own random stream (seed and name), so a
// change of one leaves the others unchanged.
//
//   embedding       normal, deviation 1
//   wq wk wv w1     normal, deviation 1 / sqrt(inputs)
//   wo w2           the same divided by sqrt(2 layers): the residual stream starts even
//   head            normal, deviation 0.02: the first predictions are nearly uniform; so is the
//                   embedding where it is the head's matrix too
//   w_f, b_f ...    (what an encoding reads of a layer's input) as wq; biases 0
//   encoding        as the encoding's file says (pe.init), or as it is told
//
// With zeroProjections wo and w2 are 0, and every layer starts as the identity.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_INITIALVALUES_H
#define PE_RUNTIME_TRAIN_MODEL_INITIALVALUES_H

#include "runtime/core/Random.h"
#include "runtime/train/model/Decoder.h"

#include <map>
#include <span>
#include <string>

namespace pe::train {

/// Initial values of one of the model's own weights, as many as `values` holds. Random numbers are
/// those of the seed, the name and `stream`.
void fillInitialValues(const Parameter &parameter, const DecoderConfig &config, uint64_t seed,
                       const std::string &stream, std::span<float> values);

/// What replaces pe.init, by the parameter's name in its file.
using InitialTexts = std::map<std::string, std::string>;

/// Sets every parameter of the model; an error names an encoding's pe.init that makes no sense, or
/// a name in `given` that is none of its parameters.
Status setInitialValues(Decoder &model, uint64_t seed, const InitialTexts &given = {});

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_INITIALVALUES_H
