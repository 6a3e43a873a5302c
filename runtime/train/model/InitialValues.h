//===- InitialValues.h - Initial weights of a model -------------*- C++ -*-===//
//
// Initializes the weights. Each parameter has its own random stream (from the seed and its name),
// so changing one parameter leaves the others unchanged.
//
//   embedding       normal, deviation 1
//   wq wk wv w1     normal, deviation 1 / sqrt(inputs)
//   wo w2           the same divided by sqrt(2 layers), to keep the scale of the residual stream
//   head            normal, deviation 0.02, so that the first predictions are nearly uniform;
//                   also used for the embedding if it is tied to the head
//   w_f, b_f ...    (projected inputs of an encoding) like wq; biases are 0
//   encoding        the pe.init of the encoding file, or the value that replaces it
//
// With zeroProjections, wo and w2 are 0, and every layer starts as the identity.
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

/// Fills `values` with initial values of one of the model's own weights. The random numbers depend
/// on the seed, the parameter's name and `stream`.
void fillInitialValues(const Parameter &parameter, const DecoderConfig &config, uint64_t seed,
                       const std::string &stream, std::span<float> values);

/// Values that replace pe.init, by the name of the parameter in its file.
using InitialTexts = std::map<std::string, std::string>;

/// Initializes every parameter of the model. Returns an error for an invalid pe.init, or for a name
/// in `given` that is not a parameter of the encoding.
Status setInitialValues(Decoder &model, uint64_t seed, const InitialTexts &given = {});

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_INITIALVALUES_H
