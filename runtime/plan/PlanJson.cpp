//===- PlanJson.cpp - Plans as JSON ---------------------------------------===//
//
// Reading trusts nothing: a field that is missing or of another type is an error that names it.
// nlohmann::json is used without exceptions: parse() returns a discarded value, and every access
// is preceded by a check of the type.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace pe::plan {

using Json = nlohmann::json;

namespace {

Json parameterToJson(const ParameterInfo &info) {
  Json json = {{"init", info.init}, {"decay", info.decay}};
  if (info.min)
    json["min"] = *info.min;
  Json monitor = Json::array();
  for (const auto &[name, expression] : info.monitor)
    monitor.push_back({name, expression});
  json["monitor"] = monitor;
  return json;
}

Json bufferToJson(const Buffer &buffer) {
  Json json = {{"name", buffer.name},           {"role", nameOf(buffer.role)},
               {"dtype", nameOf(buffer.dtype)}, {"shape", buffer.shape},
               {"zero", buffer.zero},           {"optional", buffer.optional}};
  if (buffer.role == Role::Argument)
    json["parameter"] = parameterToJson(buffer.parameter);
  return json;
}

Json stageToJson(const Stage &stage) {
  return {{"symbol", stage.symbol},
          {"phase", nameOf(stage.phase)},
          {"items", stage.items},
          {"buffers", stage.buffers}};
}

/// Reads the fields of one JSON object; the first thing that is wrong is kept as the error.
class Reader {
public:
  Reader(const Json &json, std::string where) : json(json), where(std::move(where)) {
    if (!json.is_object())
      fail("expected an object");
  }

  void read(const char *key, std::string &out) {
    if (const Json *value = get(key, &Json::is_string, "text"))
      out = value->get_ref<const std::string &>();
  }
  void read(const char *key, bool &out) {
    if (const Json *value = get(key, &Json::is_boolean, "true or false"))
      out = value->get<bool>();
  }
  void read(const char *key, int64_t &out) {
    if (const Json *value = get(key, &Json::is_number_integer, "an integer"))
      out = value->get<int64_t>();
  }
  void read(const char *key, int &out) {
    int64_t wide = out;
    read(key, wide);
    if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
      return fail(std::string("'") + key + "': expected an integer of 32 bits");
    out = static_cast<int>(wide);
  }
  void read(const char *key, std::vector<std::string> &out) {
    for (const Json &item : array(key)) {
      if (!item.is_string())
        return fail(std::string("'") + key + "': expected a list of texts");
      out.push_back(item.get_ref<const std::string &>());
    }
  }
  void read(const char *key, std::vector<int> &out) {
    for (const Json &item : array(key)) {
      if (!item.is_number_integer() || item.get<int64_t>() < 0 ||
          item.get<int64_t>() > std::numeric_limits<int>::max())
        return fail(std::string("'") + key + "': expected a list of integers >= 0");
      out.push_back(item.get<int>());
    }
  }
  void read(const char *key, DType &out) {
    std::string name;
    read(key, name);
    if (Expected<DType> dtype = parseDType(name))
      out = *dtype;
    else
      fail(std::string("'") + key + "': " + dtype.error().getMessage());
  }
  /// An enumeration of `count` values from 0 spelled by `nameOf`.
  template <typename Enum> void readEnum(const char *key, Enum &out, int count) {
    std::string name;
    read(key, name);
    for (int i = 0; i < count; ++i)
      if (nameOf(static_cast<Enum>(i)) == name) {
        out = static_cast<Enum>(i);
        return;
      }
    fail(std::string("'") + key + "': unknown value '" + name + "'");
  }
  template <typename T, typename Number> void readOptional(const char *key, T &out, Number) {
    if (!has(key))
      return;
    if (const Json *value = get(key, &Json::is_number, "a number"))
      out = value->get<Number>();
  }
  /// The list `key`; empty after a failure.
  const Json &array(const char *key) {
    static const Json none = Json::array();
    const Json *value = get(key, &Json::is_array, "a list");
    return value ? *value : none;
  }
  bool has(const char *key) const { return json.is_object() && json.contains(key); }
  const Json &at(const char *key) const { return *json.find(key); }

  void fail(const std::string &message) {
    if (status)
      status = Status(makeError(where, ": ", message));
  }
  void adopt(Status inner) {
    if (status && !inner)
      status = std::move(inner);
  }
  Status take() { return std::move(status); }

private:
  const Json *get(const char *key, bool (Json::*test)() const noexcept, const char *what) {
    if (!has(key)) {
      fail(std::string("expected field '") + key + "'");
      return nullptr;
    }
    const Json &value = at(key);
    if ((value.*test)())
      return &value;
    fail(std::string("'") + key + "': expected " + what + ", found " + value.type_name());
    return nullptr;
  }

  const Json &json;
  std::string where;
  Status status;
};

Status readParameter(const Json &json, const std::string &where, ParameterInfo &info) {
  Reader reader(json, where);
  reader.read("init", info.init);
  reader.read("decay", info.decay);
  reader.readOptional("min", info.min, double());
  for (const Json &entry : reader.array("monitor")) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string()) {
      reader.fail("'monitor': expected a list of [name, expression]");
      break;
    }
    info.monitor.emplace_back(entry[0].get<std::string>(), entry[1].get<std::string>());
  }
  return reader.take();
}

Status readBuffer(const Json &json, const std::string &where, Buffer &buffer) {
  Reader reader(json, where);
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
  Reader reader(json, where);
  reader.read("symbol", stage.symbol);
  reader.readEnum("phase", stage.phase, 4);
  reader.read("items", stage.items);
  reader.read("buffers", stage.buffers);
  return reader.take();
}

Status readWindow(const Json &json, PairWindow &window) {
  Reader reader(json, "plan.window");
  reader.readOptional("low", window.low, int64_t());
  reader.readOptional("high", window.high, int64_t());
  return reader.take();
}

} // namespace

std::string toJson(const Plan &plan) {
  Json json = {{"version", plan.version},        {"entry", plan.entry},
               {"target", plan.target},          {"features", plan.features},
               {"headDim", plan.headDim},        {"valueDim", plan.valueDim},
               {"dtype", nameOf(plan.dtype)},    {"structure", plan.structure},
               {"diagnostics", plan.diagnostics}};
  if (plan.window) {
    Json window = Json::object();
    if (plan.window->low)
      window["low"] = *plan.window->low;
    if (plan.window->high)
      window["high"] = *plan.window->high;
    json["window"] = window;
  }
  json["buffers"] = Json::array();
  for (const Buffer &buffer : plan.buffers)
    json["buffers"].push_back(bufferToJson(buffer));
  json["stages"] = Json::array();
  for (const Stage &stage : plan.stages)
    json["stages"].push_back(stageToJson(stage));
  // Text that is not UTF-8 cannot stand in JSON; it is replaced rather than refused.
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

Expected<Plan> parsePlan(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return makeError("plan: expected JSON");
  Plan plan;
  Reader reader(json, "plan");
  reader.read("version", plan.version);
  if (plan.version != kPlanVersion)
    return validate(plan).takeError();
  reader.read("entry", plan.entry);
  reader.read("target", plan.target);
  reader.read("features", plan.features);
  reader.read("headDim", plan.headDim);
  reader.read("valueDim", plan.valueDim);
  reader.read("dtype", plan.dtype);
  reader.read("structure", plan.structure);
  reader.read("diagnostics", plan.diagnostics);
  if (reader.has("window"))
    reader.adopt(readWindow(reader.at("window"), plan.window.emplace()));
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
