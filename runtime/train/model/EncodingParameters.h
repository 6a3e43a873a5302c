//===- EncodingParameters.h - An encoding's parameters in a model -*- C++ -*-===//
//
// Where the parameters of one encoding lie among all of the model's, and their gradients, which a
// compiled function writes and which are then stored: added where several layers share them.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_ENCODINGPARAMETERS_H
#define PE_RUNTIME_TRAIN_MODEL_ENCODINGPARAMETERS_H

#include "runtime/train/model/AttentionFunction.h"
#include "runtime/train/model/Parameters.h"

namespace pe::train {

class EncodingParameters {
public:
  /// Adds them as "PREFIX.NAME", or finds those that another layer added if they are `shared`.
  EncodingParameters(const std::string &prefix, const std::vector<EncodingParameter> &list,
                     bool shared, ParameterLayout &layout);

  /// Indices in the layout, in the order of the list.
  const std::vector<int64_t> &indices() const { return places; }
  std::vector<const float *> values(const float *block) const;
  /// Where a backward call writes.
  std::vector<float *> gradients();
  /// Stores what the last backward call wrote.
  void store(GradientUse use, float *block) const;

private:
  const ParameterLayout &layout;
  std::vector<int64_t> places;
  std::vector<Tensor> computed;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_ENCODINGPARAMETERS_H
