//===- Describe.cpp - Inputs and outputs of a function as JSON ------------===//

#include "runtime/api/Describe.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pe::api {

using Json = nlohmann::ordered_json;
using device::BoundPlan;
using plan::Buffer;
using plan::Role;

namespace {

Json halvesOf(device::Halves halves) {
  Json names = Json::array();
  for (const auto &[half, name] : {std::pair{device::kPrepare, "prepare"},
                                   {device::kForward, "forward"},
                                   {device::kBackward, "backward"}})
    if (halves & half)
      names.push_back(name);
  return names;
}

/// Returns the meaning of an axis whose size is this name, or null if it is an expression.
Json axisOfSize(const std::string &size) {
  static const std::map<std::string, const char *> names = {
      {"b", "batch"}, {"hq", "head"}, {"hkv", "kv_head"}, {"r", "query"},
      {"c", "key"},   {"d", "depth"}, {"e", "depth"},     {"model", "model"}};
  const auto found = names.find(size);
  return found == names.end() ? Json(nullptr) : Json(found->second);
}

/// Returns the words of a kind with the expressions of their defaults.
Json wordsOf(const plan::Plan &plan, plan::FrameWord::Kind kind) {
  Json list = Json::array();
  for (const plan::FrameWord &word : plan.frame)
    if (word.kind == kind)
      list.push_back({{"name", word.name},
                      {"default", word.fallback.empty() ? Json(nullptr) : Json(word.fallback)}});
  return list;
}

Json attentionsOf(const EntryInfo &entry) {
  const auto orNull = [](const std::optional<int64_t> &bound) {
    return bound ? Json(*bound) : Json(nullptr);
  };
  Json list = Json::array();
  for (const AttentionInfo &attention : entry.attentions)
    list.push_back({{"normalizer", attention.normalizer},
                    {"mergeable", attention.isMergeable},
                    {"remainder", attention.remainder},
                    {"direction", attention.direction},
                    {"sink", attention.sink.empty() ? Json(nullptr) : Json(attention.sink)},
                    {"sink_function", attention.hasSinkFunction},
                    {"documents", attention.documents},
                    {"pages", attention.pages.empty() ? Json(nullptr) : Json(attention.pages)},
                    {"range", {{"low", orNull(attention.low)}, {"high", orNull(attention.high)}}}});
  return list;
}

class Describer {
public:
  Describer(const EntryInfo &entry, const BoundPlan &plan) : entry(entry), plan(plan) {}

  Json tensors(Role role) const {
    Json list = Json::array();
    for (size_t i = 0; i < buffers().size(); ++i)
      if (buffers()[i].role == role && (role != Role::Residual || plan.isSaved(i)))
        list.push_back(tensor(i));
    return list;
  }

  Json prepared() const {
    Json list = Json::array();
    for (size_t g = 0; g < plan.groups().size(); ++g) {
      const device::PreparedGroup &group = plan.groups()[g];
      Json of = Json::array();
      for (int argument : group.of)
        of.push_back(buffers()[argument].name);
      list.push_back({{"name", group.name},
                      {"dtype", nameOf(DType::U8)},
                      {"elements", elementsOf(group)},
                      {"shape", {plan.groupExpression(g)}},
                      {"axes", {nullptr}},
                      {"of", of},
                      {"holds_for_all_keys", group.isOfCapacity},
                      {"read_by", halvesOf(group.readBy)}});
    }
    return list;
  }

private:
  /// Returns the type of the elements of a prepared tensor, or null if they have several types.
  Json elementsOf(const device::PreparedGroup &group) const {
    const DType first = buffers()[group.members.front()].dtype;
    const bool isOne = std::all_of(group.members.begin(), group.members.end(),
                                   [&](int member) { return buffers()[member].dtype == first; });
    return isOne ? Json(nameOf(first)) : Json(nullptr);
  }
  const std::vector<Buffer> &buffers() const { return plan.getPlan().buffers; }

  /// Returns the name of an axis in the source, or else the name that its size implies.
  Json axisOf(const Buffer &buffer, size_t axis) const {
    const bool isDerived = buffer.role == Role::Cotangent || buffer.role == Role::Gradient;
    const std::string name = isDerived ? buffer.name.substr(2) : buffer.name;
    for (const std::vector<ValueInfo> *values : {&entry.arguments, &entry.results})
      for (const ValueInfo &value : *values)
        if (value.name == name && axis < value.axes.size() && !value.axes[axis].empty())
          return value.axes[axis];
    return axisOfSize(buffer.shape[axis]);
  }

  Json tensor(size_t index) const {
    const Buffer &buffer = buffers()[index];
    Json json = {{"name", buffer.name}, {"dtype", nameOf(buffer.dtype)}, {"shape", Json::array()}};
    json["axes"] = Json::array();
    for (const std::string &size : buffer.shape) {
      json["shape"].push_back(size);
      json["axes"].push_back(axisOf(buffer, json["axes"].size()));
    }
    if (buffer.role == Role::Cotangent)
      json["result"] = buffer.name.substr(2);
    if (buffer.role == Role::Gradient)
      json["argument"] = buffer.name.substr(2);
    if (buffer.role == Role::Cotangent || buffer.role == Role::Gradient)
      return json;
    json["read_by"] =
        halvesOf(buffer.role == Role::Argument ? plan.buffers()[index].usedBy
                                               : plan.buffers()[index].usedBy & device::kBackward);
    if (buffer.role == Role::Argument)
      addParameter(buffer, json);
    return json;
  }

  void addParameter(const Buffer &buffer, Json &json) const {
    const ParameterInfo &parameter = buffer.parameter;
    json["optional"] = buffer.optional;
    json["absent"] = parameter.absent.empty() ? Json(nullptr) : Json(parameter.absent);
    json["init"] = parameter.init.empty() ? Json(nullptr) : Json(parameter.init);
    json["min"] = parameter.min ? Json(*parameter.min) : Json(nullptr);
    json["decay"] = parameter.decay;
    json["monitor"] = Json::array();
    for (const auto &[name, formula] : parameter.monitor)
      json["monitor"].push_back({name, formula});
    for (const ValueInfo &value : entry.arguments)
      if (value.name == buffer.name)
        json["location"] = value.location;
  }

  const EntryInfo &entry;
  const BoundPlan &plan;
};

} // namespace

/// Parses JSON that the compiler wrote; text that is not JSON becomes null.
static Json parsed(const std::string &text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json(nullptr) : json;
}

std::string describe(const jit::Description &description, const CompiledFunction &function) {
  const EntryInfo &entry = description.entry;
  const BoundPlan &bound = function.runner->bound();
  const plan::Plan &plan = bound.getPlan();
  const Describer describer(entry, bound);
  Json json = {{"entry", plan.entry},         {"location", entry.location},
               {"target", function.target()}, {"features", plan.features},
               {"dtype", nameOf(plan.dtype)}, {"products", nameOf(plan.products)},
               {"head_dim", plan.headDim},    {"value_dim", plan.valueDim},
               {"grad", plan.hasBackward()}};
  json["sizes"] = wordsOf(plan, plan::FrameWord::Kind::Size);
  json["scalars"] = wordsOf(plan, plan::FrameWord::Kind::Parameter);
  json["arguments"] = describer.tensors(Role::Argument);
  json["results"] = describer.tensors(Role::Result);
  json["saved"] = describer.tensors(Role::Residual);
  json["prepared"] = describer.prepared();
  json["cotangents"] = describer.tensors(Role::Cotangent);
  json["gradients"] = describer.tensors(Role::Gradient);
  json["attentions"] = attentionsOf(entry);
  json["pieces"] = parsed(description.pieces);
  json["views"] =
      "contiguous views, and strided arguments, results and gradients whose rows are at multiples "
      "of 16 bytes, are used in place; other views are copied once, into or out of the workspace";
  json["structure"] = plan.structure;
  json["diagnostics"] = plan.diagnostics;
  json["explain"] = parsed(function.explainJson);
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

} // namespace pe::api
