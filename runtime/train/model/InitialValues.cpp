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

} // namespace

void fillInitialValues(const Parameter &parameter, const DecoderConfig &config, uint64_t seed,
                       const std::string &stream, std::span<float> values) {
  Random random(seed, parameter.name + stream);
  double deviation = 1;
  if (parameter.role == Role::Head)
    deviation = kHeadDeviation;
  else if (parameter.role != Role::Embedding)
    deviation = 1 / std::sqrt(static_cast<double>(parameter.shape[1]));
  if (parameter.name.ends_with(".wo") || parameter.name.ends_with(".w2"))
    deviation /= std::sqrt(2 * static_cast<double>(config.layers));
  for (float &value : values)
    value = static_cast<float>(deviation * random.normal());
}

Status setInitialValues(Decoder &model, uint64_t seed) {
  const ParameterLayout &layout = model.layout();
  for (const Parameter &parameter : layout.all())
    if (parameter.role != Role::Encoding)
      fillInitialValues(parameter, model.config(), seed, "",
                        {model.values().at(parameter), static_cast<size_t>(parameter.count)});
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
