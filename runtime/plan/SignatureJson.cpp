//===- SignatureJson.cpp - Signatures as JSON -----------------------------===//

#include "runtime/plan/SignatureJson.h"

#include <algorithm>

namespace pe::plan {

Json parameterToJson(const ParameterInfo &info) {
  Json json = {{"init", info.init}, {"decay", info.decay}};
  if (info.min)
    json["min"] = *info.min;
  if (!info.absent.empty())
    json["absent"] = info.absent;
  Json monitor = Json::array();
  for (const auto &[name, expression] : info.monitor)
    monitor.push_back({name, expression});
  json["monitor"] = monitor;
  return json;
}

Status readParameter(const Json &json, const std::string &where, ParameterInfo &info) {
  JsonReader reader(json, where);
  reader.read("init", info.init);
  reader.read("decay", info.decay);
  reader.readOptional("min", info.min, double());
  if (reader.has("absent"))
    reader.read("absent", info.absent);
  for (const Json &entry : reader.array("monitor")) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string()) {
      reader.fail("'monitor': expected a list of [name, expression]");
      break;
    }
    info.monitor.emplace_back(entry[0].get<std::string>(), entry[1].get<std::string>());
  }
  return reader.take();
}

Json requirementsToJson(const std::vector<Requirement> &requirements) {
  Json list = Json::array();
  for (const Requirement &requirement : requirements)
    list.push_back({requirement.size, requirement.least, requirement.what});
  return list;
}

void readRequirements(JsonReader &reader, std::vector<Requirement> &requirements) {
  if (!reader.has("requires"))
    return;
  for (const Json &entry : reader.array("requires")) {
    const auto isText = [](const Json &item) { return item.is_string(); };
    if (!entry.is_array() || entry.size() != 3 || !std::all_of(entry.begin(), entry.end(), isText))
      return reader.fail("'requires': expected a list of [size, least, text]");
    requirements.push_back(
        {entry[0].get<std::string>(), entry[1].get<std::string>(), entry[2].get<std::string>()});
  }
}

Json valueRequirementsToJson(const std::vector<ValueRequirement> &requirements) {
  Json list = Json::array();
  for (const ValueRequirement &requirement : requirements)
    list.push_back({requirement.tensor, requirement.isAscending ? "ascending" : "within",
                    requirement.first, requirement.last});
  return list;
}

void readValueRequirements(JsonReader &reader, std::vector<ValueRequirement> &requirements) {
  if (!reader.has("requires_values"))
    return;
  for (const Json &entry : reader.array("requires_values")) {
    const auto isText = [](const Json &item) { return item.is_string(); };
    const bool isList =
        entry.is_array() && entry.size() == 4 && std::all_of(entry.begin(), entry.end(), isText);
    if (!isList || (entry[1] != "ascending" && entry[1] != "within"))
      return reader.fail(
          "'requires_values': expected a list of [tensor, ascending or within, first, last]");
    requirements.push_back({entry[0].get<std::string>(), entry[1] == "ascending",
                            entry[2].get<std::string>(), entry[3].get<std::string>()});
  }
}

static Json valueToJson(const ValueInfo &value) {
  return {{"name", value.name},         {"dtype", nameOf(value.dtype)},
          {"dims", value.dims},         {"sizes", value.sizes},
          {"axes", value.axes},         {"optional", value.optional},
          {"location", value.location}, {"parameter", parameterToJson(value.parameter)}};
}

static Status readValue(const Json &json, const std::string &where, ValueInfo &value) {
  JsonReader reader(json, where);
  reader.read("name", value.name);
  reader.read("dtype", value.dtype);
  reader.read("dims", value.dims);
  reader.read("sizes", value.sizes);
  reader.read("axes", value.axes);
  reader.read("optional", value.optional);
  reader.read("location", value.location);
  if (reader.has("parameter"))
    reader.adopt(readParameter(reader.at("parameter"), where + ".parameter", value.parameter));
  if (value.sizes.size() != value.dims.size())
    reader.fail("expected one size per dimension");
  if (!value.axes.empty() && value.axes.size() != value.dims.size())
    reader.fail("expected one axis per dimension, or none");
  return reader.take();
}

static Json attentionToJson(const AttentionInfo &attention) {
  Json json = {{"normalizer", attention.normalizer}, {"remainder", attention.remainder},
               {"direction", attention.direction},   {"sink", attention.sink},
               {"documents", attention.documents},   {"sink_function", attention.hasSinkFunction},
               {"mergeable", attention.isMergeable}, {"pages", attention.pages}};
  if (attention.low)
    json["low"] = *attention.low;
  if (attention.high)
    json["high"] = *attention.high;
  return json;
}

static Status readAttention(const Json &json, const std::string &where, AttentionInfo &attention) {
  JsonReader reader(json, where);
  reader.read("normalizer", attention.normalizer);
  reader.read("remainder", attention.remainder);
  reader.read("direction", attention.direction);
  reader.read("sink", attention.sink);
  reader.read("documents", attention.documents);
  reader.read("sink_function", attention.hasSinkFunction);
  reader.read("mergeable", attention.isMergeable);
  reader.read("pages", attention.pages);
  reader.readOptional("low", attention.low, int64_t());
  reader.readOptional("high", attention.high, int64_t());
  return reader.take();
}

std::string toJson(const EntryInfo &entry) {
  Json json = {{"name", entry.name}, {"location", entry.location}};
  for (const auto &[key, values] :
       {std::pair("arguments", &entry.arguments), std::pair("results", &entry.results)}) {
    json[key] = Json::array();
    for (const ValueInfo &value : *values)
      json[key].push_back(valueToJson(value));
  }
  json["attentions"] = Json::array();
  for (const AttentionInfo &attention : entry.attentions)
    json["attentions"].push_back(attentionToJson(attention));
  if (!entry.requirements.empty())
    json["requires"] = requirementsToJson(entry.requirements);
  if (!entry.valueRequirements.empty())
    json["requires_values"] = valueRequirementsToJson(entry.valueRequirements);
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

Expected<EntryInfo> parseEntryInfo(std::string_view text) {
  Expected<Json> json = parseJson(text, "signature");
  if (!json)
    return json.takeError();
  EntryInfo entry;
  JsonReader reader(*json, "signature");
  reader.read("name", entry.name);
  reader.read("location", entry.location);
  for (const auto &[key, values] :
       {std::pair("arguments", &entry.arguments), std::pair("results", &entry.results)})
    for (const Json &item : reader.array(key)) {
      const std::string where = std::string(key) + "[" + std::to_string(values->size()) + "]";
      reader.adopt(readValue(item, where, values->emplace_back()));
    }
  for (const Json &item : reader.array("attentions")) {
    const std::string where = "attentions[" + std::to_string(entry.attentions.size()) + "]";
    reader.adopt(readAttention(item, where, entry.attentions.emplace_back()));
  }
  readRequirements(reader, entry.requirements);
  readValueRequirements(reader, entry.valueRequirements);
  if (Status s = reader.take(); !s)
    return s.takeError();
  return entry;
}

} // namespace pe::plan
