//===- CellFile.cpp - What one run of a grid found, in a file --------------===//
#include "tools/pe/CellFile.h"

#include <nlohmann/json.hpp>

namespace pe::cli {

using Json = nlohmann::ordered_json;

static Json pairsOf(const std::map<int64_t, double> &values) {
  Json list = Json::array();
  for (auto [key, value] : values)
    list.push_back({key, value});
  return list;
}

std::string toCellText(const train::EncodingResult &result) {
  Json json = {{"bits", pairsOf(result.bitsPerChar)},
               {"accuracy", pairsOf(result.accuracy)},
               {"curve", result.curve},
               {"evaluations", result.evaluations},
               {"milliseconds", pairsOf(result.milliseconds)},
               {"more", result.more},
               {"encoding_params", result.encodingParams},
               {"model_params", result.modelParams},
               {"seconds", result.trainSeconds}};
  return json.dump() + "\n";
}

std::optional<train::EncodingResult> fromCellText(const std::string &text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  train::EncodingResult result;
  try {
    for (auto [name, values] : {std::pair("bits", &result.bitsPerChar),
                                {"accuracy", &result.accuracy},
                                {"milliseconds", &result.milliseconds}})
      for (const auto &[length, value] :
           json.at(name).get<std::vector<std::pair<int64_t, double>>>())
        (*values)[length] = value;
    json.at("more").get_to(result.more);
    json.at("curve").get_to(result.curve);
    json.at("evaluations").get_to(result.evaluations);
    json.at("encoding_params").get_to(result.encodingParams);
    json.at("model_params").get_to(result.modelParams);
    json.at("seconds").get_to(result.trainSeconds);
  } catch (const nlohmann::json::exception &) {
    return std::nullopt;
  }
  return result;
}

} // namespace pe::cli
