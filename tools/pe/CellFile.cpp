//===- CellFile.cpp - The result file of a run of a grid -------------------===//
#include "tools/pe/CellFile.h"

#include "runtime/api/Compiler.h"
#include "runtime/core/File.h"
#include "runtime/core/Hash.h"
#include "runtime/plan/JsonText.h"

#include <limits>

namespace pe::cli {

using Json = nlohmann::ordered_json;

static Json pairsOf(const std::map<int64_t, double> &values) {
  Json list = Json::array();
  for (auto [key, value] : values)
    list.push_back({key, value});
  return list;
}

/// Reads a matrix. JSON represents NaN as null.
static std::vector<std::vector<double>> matrixOf(const Json &json) {
  std::vector<std::vector<double>> matrix;
  for (const Json &row : json) {
    std::vector<double> &values = matrix.emplace_back();
    for (const Json &value : row)
      values.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                       : value.get<double>());
  }
  return matrix;
}

static train::LearnedBias biasOf(const Json &json) {
  train::LearnedBias bias;
  json.at("query").get_to(bias.query);
  json.at("trained").get_to(bias.trainedLength);
  json.at("step").get_to(bias.step);
  bias.rows = matrixOf(json.at("rows"));
  for (const Json &map : json.at("maps"))
    bias.maps.push_back(matrixOf(map));
  // Check that every row has a value at the query; the plot reads it.
  for (const std::vector<double> &row : bias.rows)
    row.at(static_cast<size_t>(bias.query));
  return bias;
}

std::string toCellText(const FinishedCell &cell) {
  const train::EncodingResult &result = cell.result;
  Json json = {{"key", cell.key},
               {"build", cell.build},
               {"bits", pairsOf(result.bitsPerChar)},
               {"accuracy", pairsOf(result.accuracy)},
               {"curve", result.curve},
               {"evaluations", result.evaluations},
               {"milliseconds", pairsOf(result.milliseconds)},
               {"more", result.more},
               {"encoding_params", result.encodingParams},
               {"model_params", result.modelParams},
               {"seconds", result.trainSeconds}};
  if (!result.bias.isZero())
    json["bias"] = {{"query", result.bias.query},
                    {"trained", result.bias.trainedLength},
                    {"step", result.bias.step},
                    {"rows", result.bias.rows},
                    {"maps", result.bias.maps}};
  return json.dump() + "\n";
}

std::optional<FinishedCell> fromCellText(const std::string &text) {
  const auto parsed = plan::parseJson<Json>(text, "cell");
  if (!parsed)
    return std::nullopt;
  const Json &json = *parsed;
  FinishedCell cell;
  train::EncodingResult &result = cell.result;
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
    json.at("key").get_to(cell.key);
    // Files of earlier versions lack both fields.
    cell.build = json.value("build", std::string());
    if (json.contains("bias"))
      result.bias = biasOf(json["bias"]);
  } catch (const std::exception &) { // thrown by nlohmann::json, or by at()
    return std::nullopt;
  }
  return cell;
}

Expected<std::string> buildOfPe() {
  Sha256 hash;
  for (const std::string &path :
       {std::string("/proc/self/exe"), api::Compiler::instance().jitProvider().place()}) {
    auto content = readFile(path);
    if (!content)
      return content.takeError();
    hash.update(*content);
  }
  return hash.finish().substr(0, 12);
}

} // namespace pe::cli
