//===- EncodingParameters.cpp - An encoding's parameters in a model -------===//
//
// Registers parameters, and stores their gradients.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/EncodingParameters.h"

namespace pe::train {

EncodingParameters::EncodingParameters(const std::string &prefix,
                                       const std::vector<EncodingParameter> &list, bool shared,
                                       ParameterLayout &layout)
    : layout(layout) {
  for (const EncodingParameter &parameter : list) {
    const std::string name = prefix + "." + parameter.name;
    const int64_t index = shared ? layout.share(name, parameter.shape, Role::Encoding)
                                 : layout.add(name, parameter.shape, Role::Encoding);
    layout[index].decay = parameter.decay;
    layout[index].minimum = parameter.minimum;
    layout[index].monitor = parameter.monitor;
    places.push_back(index);
    computed.push_back(Tensor::zeros(DType::F32, parameter.shape));
  }
}

std::vector<const float *> EncodingParameters::values(const float *block) const {
  std::vector<const float *> result;
  for (int64_t index : places)
    result.push_back(block + layout[index].offset);
  return result;
}

std::vector<float *> EncodingParameters::gradients() {
  std::vector<float *> result;
  for (Tensor &gradient : computed)
    result.push_back(gradient.data<float>());
  return result;
}

void EncodingParameters::store(GradientUse use, float *block) const {
  for (size_t i = 0; i < places.size(); ++i) {
    const Parameter &parameter = layout[places[i]];
    const bool adds = use == GradientUse::Add || parameter.shared;
    const float *from = computed[i].data<float>();
    float *into = block + parameter.offset;
    for (int64_t element = 0; element < parameter.count; ++element)
      into[element] = adds ? into[element] + from[element] : from[element];
  }
}

} // namespace pe::train
