//===- InitialValues.cpp - Initial weights of a model ---------------------===//
//
// Initializes the model's own weights by role and name, and the encoding's by their pe.init.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/model/InitialValues.h"

#include "runtime/core/Error.h"
#include "runtime/core/Initializer.h"

#include <algorithm>
#include <cmath>

namespace pe::train {
namespace {

constexpr double kHeadDeviation = 0.02;

} // namespace

void fillInitialValues(const Parameter &parameter, const DecoderConfig &config, uint64_t seed,
                       const std::string &stream, std::span<float> values) {
  Random random(seed, parameter.name + stream);
  double deviation = 1;
  if (parameter.shape.size() < 2)
    deviation = 0; // a bias
  else if (parameter.role == Role::Head || (parameter.role == Role::Embedding && config.tieHead))
    deviation = kHeadDeviation;
  else if (parameter.role != Role::Embedding)
    deviation = 1 / std::sqrt(static_cast<double>(parameter.shape[1]));
  if (parameter.name.ends_with(".wo") || parameter.name.ends_with(".w2"))
    deviation =
        config.zeroProjections ? 0 : deviation / std::sqrt(2 * static_cast<double>(config.layers));
  for (float &value : values)
    value = static_cast<float>(deviation * random.normal());
}

/// Initializes the parameters of one encoding, using `given` instead of the file's pe.init if
/// present.
static Status fillEncoding(Decoder &model, uint64_t seed,
                           const std::vector<EncodingParameter> &list,
                           const std::vector<int64_t> &places, const InitialTexts &given) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Parameter &parameter = model.layout()[places[i]];
    Random random(seed, parameter.name);
    std::span<float> values(model.values().at(parameter), parameter.count);
    const auto other = given.find(list[i].name);
    const std::string &init = other == given.end() ? list[i].init : other->second;
    if (Status status = fillByInit(init, parameter.shape, values, random); !status)
      return status.takeError().within("parameter '" + list[i].name + "'");
    for (float &value : values)
      value = std::max(value, parameter.minimum);
  }
  return Status::success();
}

static Status checkNames(const std::vector<std::string> &names, const InitialTexts &given) {
  for (const auto &[name, init] : given)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return makeError("--init: expected a parameter of the encoding",
                       names.empty() ? ", which has no parameters" : ": " + joinChoices(names),
                       ", found '", name, "'");
  return Status::success();
}

Status setInitialValues(Decoder &model, uint64_t seed, const InitialTexts &given) {
  for (const Parameter &parameter : model.layout().all())
    if (parameter.role != Role::Encoding)
      fillInitialValues(parameter, model.config(), seed, "",
                        {model.values().at(parameter), static_cast<size_t>(parameter.count)});
  std::vector<std::string> names;
  auto fill = [&](const std::vector<EncodingParameter> &list, const std::vector<int64_t> &places) {
    for (const EncodingParameter &parameter : list)
      if (std::find(names.begin(), names.end(), parameter.name) == names.end())
        names.push_back(parameter.name);
    return fillEncoding(model, seed, list, places, given);
  };
  if (const PositionEmbedding *position = model.positions())
    if (Status status = fill(position->function->parameters(), position->parameters.indices());
        !status)
      return status;
  for (int64_t layer = 0; layer < model.config().layers; ++layer) {
    const SelfAttention &attention = model.attention(layer);
    if (Status status = fill(attention.attention().parameters(), attention.encodingParameters());
        !status)
      return status;
  }
  return checkNames(names, given);
}

} // namespace pe::train
