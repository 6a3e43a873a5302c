//===- InitialValues.cpp - How a model starts -----------------------------===//
//
// The model's own weights by role and name, the encoding's by their pe.init.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/InitialValues.h"

#include "runtime/core/Initializer.h"

#include <cmath>

namespace pe::train {
namespace {

constexpr double kHeadDeviation = 0.02;

void fillNormal(std::span<float> values, double deviation, Random &random) {
  for (float &value : values)
    value = static_cast<float>(deviation * random.normal());
}

} // namespace

Status setInitialValues(Decoder &model, uint64_t seed) {
  const ParameterLayout &layout = model.layout();
  double branches = 2 * static_cast<double>(model.config().layers);
  for (const Parameter &parameter : layout.all()) {
    if (parameter.role == Role::Encoding)
      continue;
    Random random(seed, parameter.name);
    double deviation = 1;
    if (parameter.role == Role::Head)
      deviation = kHeadDeviation;
    else if (parameter.role != Role::Embedding)
      deviation = 1 / std::sqrt(static_cast<double>(parameter.shape[1]));
    if (parameter.name.ends_with(".wo") || parameter.name.ends_with(".w2"))
      deviation /= std::sqrt(branches);
    fillNormal({model.values().at(parameter), static_cast<size_t>(parameter.count)}, deviation,
               random);
  }
  for (int64_t layer = 0; layer < model.config().layers; ++layer) {
    const SelfAttention &attention = model.attention(layer);
    const std::vector<EncodingParameter> &list = attention.attention().parameters();
    for (size_t i = 0; i < list.size(); ++i) {
      const Parameter &parameter = layout[attention.encodingParameters()[i]];
      Random random(seed, parameter.name);
      std::span<float> values(model.values().at(parameter), parameter.count);
      if (Status status = fillByInit(list[i].init, parameter.shape, values, random); !status)
        return status.takeError().within("parameter '" + list[i].name + "'");
      for (float &value : values)
        value = std::max(value, parameter.minimum);
    }
  }
  return Status::success();
}

} // namespace pe::train
