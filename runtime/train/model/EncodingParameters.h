//===- EncodingParameters.h - An encoding's parameters in a model -*- C++ -*-===//
//
// The positions of one encoding's parameters among the model's parameters, and their gradients. A
// compiled function writes the gradients to separate buffers, from which they are stored; they are
// added if several layers share the parameters.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_MODEL_ENCODINGPARAMETERS_H
#define PE_RUNTIME_TRAIN_MODEL_ENCODINGPARAMETERS_H

#include "runtime/train/model/AttentionFunction.h"
#include "runtime/train/model/Parameters.h"

namespace pe::train {

class EncodingParameters {
public:
  /// Adds the parameters as "PREFIX.NAME", or, if `shared`, reuses those that another layer added.
  EncodingParameters(const std::string &prefix, const std::vector<EncodingParameter> &list,
                     bool shared, ParameterLayout &layout);

  /// Returns indices in the layout, in the order of the list.
  const std::vector<int64_t> &indices() const { return places; }
  std::vector<const float *> values(const float *block) const;
  /// Returns the buffers that a backward call writes to.
  std::vector<float *> gradients();
  /// Stores the gradients that the last backward call wrote.
  void store(GradientUse use, float *block) const;

private:
  const ParameterLayout &layout;
  std::vector<int64_t> places;
  std::vector<Tensor> computed;
};

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_MODEL_ENCODINGPARAMETERS_H
