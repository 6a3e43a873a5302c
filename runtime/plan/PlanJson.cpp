//===- PlanJson.cpp - Plans as JSON ---------------------------------------===//

#include "runtime/plan/JsonReader.h"
#include "runtime/plan/Plan.h"
#include "runtime/plan/SignatureJson.h"

#include <algorithm>

namespace pe::plan {

namespace {

Json bufferToJson(const Buffer &buffer) {
  Json json = {{"name", buffer.name},           {"role", nameOf(buffer.role)},
               {"dtype", nameOf(buffer.dtype)}, {"shape", buffer.shape},
               {"zero", buffer.zero},           {"optional", buffer.optional}};
  if (buffer.role == Role::Argument)
    json["parameter"] = parameterToJson(buffer.parameter);
  return json;
}

/// Converts to ["size", "hq"], with a default to ["parameter", "q_start", "k_start + c - r"], and
/// for the stride of a buffer's axis to ["stride", "q", 1].
Json wordToJson(const FrameWord &word) {
  Json json = {nameOf(word.kind), word.name};
  if (word.kind == FrameWord::Kind::Stride)
    json.push_back(word.axis);
  if (!word.fallback.empty())
    json.push_back(word.fallback);
  return json;
}

Status readWord(const Json &json, const std::string &where, FrameWord &word) {
  const auto isText = [](const Json &item) { return item.is_string(); };
  if (json.is_array() && json.size() == 3 && json[0] == "stride" && json[1].is_string() &&
      json[2].is_number_integer()) {
    const int64_t axis = json[2].get<int64_t>();
    word = {FrameWord::Kind::Stride, json[1].get<std::string>(), "",
            axis < 0 || axis > static_cast<int64_t>(kMaxRank) ? -1 : static_cast<int>(axis)};
    return Status::success();
  }
  if (!json.is_array() || json.size() < 2 || json.size() > 3 ||
      !std::all_of(json.begin(), json.end(), isText))
    return makeError(where, ": expected [kind, name], optionally followed by a default or an axis");
  const std::string &kind = json[0].get_ref<const std::string &>();
  for (FrameWord::Kind known : {FrameWord::Kind::Size, FrameWord::Kind::Parameter})
    if (kind == nameOf(known)) {
      word = {known, json[1].get<std::string>(), json.size() > 2 ? json[2].get<std::string>() : ""};
      return Status::success();
    }
  return makeError(where, ": expected a size, a parameter or a stride, found '", kind, "'");
}

Json stageToJson(const Stage &stage) {
  Json json = {{"symbol", stage.symbol},
               {"phase", nameOf(stage.phase)},
               {"items", stage.items},
               {"buffers", stage.buffers},
               {"writes", stage.writes}};
  if (!stage.when.empty())
    json["when"] = stage.when;
  if (stage.launch) {
    json["threads"] = stage.launch->threads;
    json["shared_bytes"] = stage.launch->sharedBytes;
    json["words"] = stage.words;
  }
  return json;
}

Status readBuffer(const Json &json, const std::string &where, Buffer &buffer) {
  JsonReader reader(json, where);
  reader.read("name", buffer.name);
  reader.readEnum("role", buffer.role, 6);
  reader.read("dtype", buffer.dtype);
  reader.read("shape", buffer.shape);
  reader.read("zero", buffer.zero);
  reader.read("optional", buffer.optional);
  if (reader.has("parameter"))
    reader.adopt(readParameter(reader.at("parameter"), where + ".parameter", buffer.parameter));
  return reader.take();
}

Status readStage(const Json &json, const std::string &where, Stage &stage) {
  JsonReader reader(json, where);
  reader.read("symbol", stage.symbol);
  reader.readEnum("phase", stage.phase, 4);
  reader.read("items", stage.items);
  if (reader.has("when"))
    reader.read("when", stage.when);
  reader.read("buffers", stage.buffers);
  reader.read("writes", stage.writes);
  if (reader.has("threads")) {
    Launch &launch = stage.launch.emplace();
    reader.read("threads", launch.threads);
    reader.read("shared_bytes", launch.sharedBytes);
    reader.read("words", stage.words);
  }
  return reader.take();
}

Status readWindow(const Json &json, PairWindow &window) {
  JsonReader reader(json, "plan.window");
  reader.readOptional("low", window.low, int64_t());
  reader.readOptional("high", window.high, int64_t());
  return reader.take();
}

} // namespace

std::string toJson(const Plan &plan) {
  Json json = {{"version", plan.version},        {"entry", plan.entry},
               {"target", nameOf(plan.target)},  {"features", plan.features},
               {"headDim", plan.headDim},        {"valueDim", plan.valueDim},
               {"dtype", nameOf(plan.dtype)},    {"structure", plan.structure},
               {"diagnostics", plan.diagnostics}};
  if (plan.products != plan.dtype)
    json["products"] = nameOf(plan.products);
  if (plan.window) {
    Json window = Json::object();
    if (plan.window->low)
      window["low"] = *plan.window->low;
    if (plan.window->high)
      window["high"] = *plan.window->high;
    json["window"] = window;
  }
  json["frame"] = Json::array();
  for (const FrameWord &word : plan.frame)
    json["frame"].push_back(wordToJson(word));
  if (!plan.requirements.empty())
    json["requires"] = requirementsToJson(plan.requirements);
  if (!plan.valueRequirements.empty())
    json["requires_values"] = valueRequirementsToJson(plan.valueRequirements);
  json["buffers"] = Json::array();
  for (const Buffer &buffer : plan.buffers)
    json["buffers"].push_back(bufferToJson(buffer));
  json["stages"] = Json::array();
  for (const Stage &stage : plan.stages)
    json["stages"].push_back(stageToJson(stage));
  // JSON cannot contain text that is not UTF-8; such bytes are replaced instead of causing an
  // error.
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

Expected<Plan> parsePlan(std::string_view text) {
  Expected<Json> json = parseJson(text, "plan");
  if (!json)
    return json.takeError();
  Plan plan;
  JsonReader reader(*json, "plan");
  reader.read("version", plan.version);
  if (plan.version != kPlanVersion)
    return validate(plan).takeError();
  reader.read("entry", plan.entry);
  std::string target;
  reader.read("target", target);
  if (const auto known = findTarget(target))
    plan.target = *known;
  else
    reader.fail("'target': expected cpu, cuda or gpu-emulator, found '" + target + "'");
  reader.read("features", plan.features);
  reader.read("headDim", plan.headDim);
  reader.read("valueDim", plan.valueDim);
  reader.read("dtype", plan.dtype);
  plan.products = plan.dtype;
  if (reader.has("products"))
    reader.read("products", plan.products);
  reader.read("structure", plan.structure);
  reader.read("diagnostics", plan.diagnostics);
  if (reader.has("window"))
    reader.adopt(readWindow(reader.at("window"), plan.window.emplace()));
  for (const Json &item : reader.array("frame")) {
    const std::string where = "plan.frame[" + std::to_string(plan.frame.size()) + "]";
    reader.adopt(readWord(item, where, plan.frame.emplace_back()));
  }
  readRequirements(reader, plan.requirements);
  readValueRequirements(reader, plan.valueRequirements);
  for (const Json &item : reader.array("buffers")) {
    const std::string where = "plan.buffers[" + std::to_string(plan.buffers.size()) + "]";
    reader.adopt(readBuffer(item, where, plan.buffers.emplace_back()));
  }
  for (const Json &item : reader.array("stages")) {
    const std::string where = "plan.stages[" + std::to_string(plan.stages.size()) + "]";
    reader.adopt(readStage(item, where, plan.stages.emplace_back()));
  }
  if (Status s = reader.take(); !s)
    return s.takeError();
  if (Status s = validate(plan); !s)
    return s.takeError();
  return plan;
}

} // namespace pe::plan
