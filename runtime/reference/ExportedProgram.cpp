//===- ExportedProgram.cpp - Parsing of the neutral form of a function ----===//
//
// Converts JSON to a Program. Ids in the file are any JSON values; they are mapped to dense
// numbers, and the use of an undefined id is an error.
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/ExportedProgram.h"
#include "runtime/plan/JsonReader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace pe::reference {
namespace {

using Json = nlohmann::json;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

std::string_view trim(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

/// Parses "1.5e-01 : f32" as 0.15; nullopt if the text is not a number.
std::optional<double> parseNumber(std::string_view text) {
  text = trim(text.substr(0, text.find(':')));
  if (text == "inf" || text == "+inf")
    return std::numeric_limits<double>::infinity();
  if (text == "-inf")
    return -std::numeric_limits<double>::infinity();
  if (text == "nan")
    return std::nan("");
  double value = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  return value;
}

Attribute readAttribute(const Json &json) {
  if (json.is_boolean())
    return {json.get<bool>()};
  const bool isBeyond = json.is_number_unsigned() && json.get<uint64_t>() >> 63 != 0;
  if (json.is_number_integer() && !isBeyond)
    return {json.get<int64_t>()};
  if (json.is_number())
    return {json.get<double>()};
  if (json.is_string())
    return {json.get<std::string>()};
  if (json.is_array()) {
    std::vector<Attribute> elements;
    for (const Json &element : json)
      elements.push_back(readAttribute(element));
    return {std::move(elements)};
  }
  // An object such as {"value": x, "type": t}: only the value matters.
  if (json.is_object() && json.contains("value"))
    return readAttribute(json["value"]);
  return {};
}

Attributes readAttributes(const Json &json) {
  Attributes attributes;
  for (const auto &[key, value] : json.items())
    attributes.emplace(key, readAttribute(value));
  return attributes;
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

class Reader {
public:
  Expected<Program> read(const Json &json);

private:
  Expected<ValueId> define(const Json &id, const Json &type);
  Expected<ValueId> use(const Json &id);
  Expected<Operation> readOperation(const Json &json);
  Expected<Region> readRegion(const Json &json);
  Status readOperations(const Json &json, std::vector<Operation> &operations);
  Status readResults(const Json &json, Operation &operation);

  Program program;
  std::map<std::string, ValueId> ids;
};

/// Returns the member `key`, or an empty list if it is absent.
const Json &member(const Json &json, const char *key) {
  static const Json absent = Json::array();
  if (!json.is_object())
    return absent;
  auto found = json.find(key);
  return found == json.end() ? absent : *found;
}

/// Checks that members that are present are lists, since the readers iterate over them.
Status expectLists(const Json &json, std::initializer_list<const char *> keys) {
  for (const char *key : keys)
    if (const Json &value = member(json, key); !value.is_array())
      return makeError("malformed program: expected '", key, "' to be a list, found ",
                       value.type_name());
  return Status::success();
}

std::string textOf(const Json &json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}

Expected<ValueId> Reader::define(const Json &id, const Json &type) {
  ValueId value = static_cast<ValueId>(program.types.size());
  if (!ids.emplace(id.dump(), value).second)
    return makeError("malformed program: value ", id.dump(), " is defined twice");
  program.types.push_back(textOf(type));
  return value;
}

Expected<ValueId> Reader::use(const Json &id) {
  auto found = ids.find(id.dump());
  if (found == ids.end())
    return makeError("malformed program: value ", id.dump(), " is used but never defined");
  return found->second;
}

Status Reader::readResults(const Json &json, Operation &operation) {
  const Json &results = member(json, "results");
  const Json &types = member(json, "types");
  if (!results.is_array() || !types.is_array())
    return makeError("malformed program: expected lists of results and of their types");
  for (size_t i = 0; i < results.size(); ++i) {
    auto value = define(results[i], i < types.size() ? types[i] : Json());
    if (!value)
      return value.takeError();
    operation.results.push_back(*value);
  }
  return Status::success();
}

Expected<Region> Reader::readRegion(const Json &json) {
  Region region;
  if (Status status = expectLists(json, {"args", "ops"}); !status)
    return status.takeError();
  for (const Json &argument : member(json, "args")) {
    // An argument is its id, or an object with an id and a type.
    bool described = argument.is_object();
    auto value = define(described ? member(argument, "id") : argument, member(argument, "type"));
    if (!value)
      return value.takeError();
    region.arguments.push_back(*value);
  }
  if (Status status = readOperations(member(json, "ops"), region.operations); !status)
    return status.takeError();
  return region;
}

Expected<Operation> Reader::readOperation(const Json &json) {
  Operation operation;
  operation.name = textOf(member(json, "op"));
  operation.location = textOf(member(json, "loc"));
  if (operation.name.empty())
    return makeError("malformed program: expected an operation with a name, found ", json.dump());
  if (Status status = expectLists(json, {"operands", "results", "types", "regions"}); !status)
    return status.takeError();
  operation.attributes = readAttributes(member(json, "attrs"));
  for (const Json &id : member(json, "operands")) {
    auto value = use(id);
    if (!value)
      return value.takeError();
    operation.operands.push_back(*value);
  }
  for (const Json &region : member(json, "regions")) {
    auto read = readRegion(region);
    if (!read)
      return read.takeError();
    operation.regions.push_back(std::move(*read));
  }
  if (Status status = readResults(json, operation); !status)
    return status.takeError();
  return operation;
}

Status Reader::readOperations(const Json &json, std::vector<Operation> &operations) {
  for (const Json &element : json) {
    auto operation = readOperation(element);
    if (!operation)
      return operation.takeError();
    operations.push_back(std::move(*operation));
  }
  return Status::success();
}

Status readAxes(const Attribute &attribute, Argument &argument) {
  auto *words = std::get_if<std::vector<Attribute>>(&attribute.value);
  for (size_t axis = 0; words && axis < words->size(); ++axis)
    if (auto word = (*words)[axis].asKeyword())
      argument.axes.push_back(*word);
  if (words && argument.axes.size() == words->size())
    return Status::success();
  return makeError("malformed program: expected 'pe.axes' of '", argument.name,
                   "' to be a list of strings");
}

Expected<Program> Reader::read(const Json &json) {
  if (!json.is_object() || !json.contains("ops") || !json.contains("returns"))
    return makeError("malformed program: expected an object with 'name', 'args', 'ops' and "
                     "'returns'");
  if (Status status = expectLists(json, {"args", "ops", "returns"}); !status)
    return status.takeError();
  program.name = textOf(member(json, "name"));
  for (const Json &argument : member(json, "args")) {
    auto value = define(member(argument, "id"), member(argument, "type"));
    if (!value)
      return value.takeError();
    Argument &read =
        program.arguments.emplace_back(Argument{*value, textOf(member(argument, "name")), {}, {}});
    const Attributes attributes = readAttributes(member(argument, "attrs"));
    if (auto axes = attributes.find("pe.axes"); axes != attributes.end())
      if (Status status = readAxes(axes->second, read); !status)
        return status.takeError();
    if (auto absent = attributes.find("pe.absent"); absent != attributes.end())
      read.absent = absent->second.asKeyword().value_or("");
  }
  if (Status status = readOperations(member(json, "ops"), program.operations); !status)
    return status.takeError();
  for (const Json &result : member(json, "returns")) {
    auto value = use(member(result, "id"));
    if (!value)
      return value.takeError();
    program.returns.push_back({*value, textOf(member(result, "name"))});
  }
  return std::move(program);
}

} // namespace

//===----------------------------------------------------------------------===//
// Attribute readers
//===----------------------------------------------------------------------===//

std::optional<double> Attribute::asNumber() const {
  if (auto *number = std::get_if<double>(&value))
    return *number;
  if (auto *integer = std::get_if<int64_t>(&value))
    return static_cast<double>(*integer);
  if (auto *truth = std::get_if<bool>(&value))
    return *truth ? 1.0 : 0.0;
  if (auto *text = std::get_if<std::string>(&value))
    return parseNumber(*text);
  return std::nullopt;
}

std::optional<int64_t> Attribute::asInteger() const {
  if (auto *integer = std::get_if<int64_t>(&value))
    return *integer;
  // A number or a string such as "7 : i64", up to the integers that double represents exactly.
  constexpr double kMostExact = 9007199254740992.0; // 2^53
  const std::optional<double> number = asNumber();
  if (number && std::fabs(*number) <= kMostExact && *number == std::trunc(*number))
    return static_cast<int64_t>(*number);
  if (auto truth = number ? std::nullopt : asBool())
    return *truth ? 1 : 0;
  return std::nullopt;
}

std::optional<bool> Attribute::asBool() const {
  if (auto *truth = std::get_if<bool>(&value))
    return *truth;
  if (auto *number = std::get_if<double>(&value))
    return *number != 0.0;
  if (auto *integer = std::get_if<int64_t>(&value))
    return *integer != 0;
  if (auto *text = std::get_if<std::string>(&value)) {
    if (*text == "true" || *text == "unit")
      return true;
    if (*text == "false")
      return false;
  }
  return std::nullopt;
}

std::optional<std::string> Attribute::asKeyword() const {
  auto *text = std::get_if<std::string>(&value);
  if (!text)
    return std::nullopt;
  std::string_view word = trim(*text);
  if (word.starts_with('#')) {
    size_t open = word.find('<');
    size_t close = word.rfind('>');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
      return std::nullopt;
    word = trim(word.substr(open + 1, close - open - 1));
    word = word.substr(
        word.find_last_of(' ') == std::string_view::npos ? 0 : word.find_last_of(' ') + 1);
  }
  if (word.size() >= 2 && word.front() == '"' && word.back() == '"')
    word = word.substr(1, word.size() - 2);
  return std::string(word);
}

std::optional<std::vector<int64_t>> Attribute::asIntegers() const {
  std::vector<int64_t> integers;
  if (auto *elements = std::get_if<std::vector<Attribute>>(&value)) {
    for (const Attribute &element : *elements) {
      auto number = element.asNumber();
      if (!number)
        return std::nullopt;
      integers.push_back(static_cast<int64_t>(*number));
    }
    return integers;
  }
  auto *text = std::get_if<std::string>(&value);
  if (!text || !text->starts_with("array<"))
    return std::nullopt;
  std::string_view rest = *text;
  size_t colon = rest.find(':');
  rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  while (!rest.empty()) {
    size_t end = rest.find_first_of(",>");
    auto number = parseNumber(rest.substr(0, end));
    if (!number)
      return std::nullopt;
    integers.push_back(static_cast<int64_t>(*number));
    if (end == std::string_view::npos || rest[end] == '>')
      break;
    rest.remove_prefix(end + 1);
  }
  return integers;
}

const Attribute *Operation::find(std::string_view attribute) const {
  auto found = attributes.find(std::string(attribute));
  return found == attributes.end() ? nullptr : &found->second;
}

Status Operation::expectOnly(std::initializer_list<std::string_view> known) const {
  for (const auto &[attribute, value] : attributes) {
    bool isKnown = std::find(known.begin(), known.end(), attribute) != known.end();
    if (!isKnown && attribute != "operandSegmentSizes" && attribute.find('.') == std::string::npos)
      return fail("has attribute '", attribute, "', which the reference does not support");
  }
  return Status::success();
}

Expected<double> Operation::number(std::string_view attribute, double fallback) const {
  const Attribute *found = find(attribute);
  if (!found)
    return fallback;
  if (auto number = found->asNumber())
    return *number;
  return fail("expected attribute '", attribute, "' to be a number");
}

Expected<int64_t> Operation::integer(std::string_view attribute, int64_t fallback) const {
  auto found = number(attribute, static_cast<double>(fallback));
  if (!found)
    return found.takeError();
  if (*found != std::floor(*found))
    return fail("expected attribute '", attribute, "' to be an integer, found ", *found);
  return static_cast<int64_t>(*found);
}

Expected<bool> Operation::boolean(std::string_view attribute, bool fallback) const {
  const Attribute *found = find(attribute);
  if (!found)
    return fallback;
  // A unit attribute has no value: its presence means true.
  if (std::holds_alternative<std::monostate>(found->value))
    return true;
  if (auto truth = found->asBool())
    return *truth;
  return fail("expected attribute '", attribute, "' to be true or false");
}

Expected<std::string> Operation::keyword(std::string_view attribute, std::string fallback) const {
  const Attribute *found = find(attribute);
  if (!found)
    return fallback;
  if (auto word = found->asKeyword())
    return *word;
  return fail("expected attribute '", attribute, "' to be a keyword");
}

Expected<std::vector<std::vector<ValueId>>> Operation::operandGroups(size_t count,
                                                                     size_t required) const {
  std::vector<std::vector<ValueId>> groups;
  if (const Attribute *sizes = find("operandSegmentSizes")) {
    auto integers = sizes->asIntegers();
    if (!integers)
      return fail("expected 'operandSegmentSizes' to be a list of integers");
    size_t next = 0;
    for (int64_t size : *integers) {
      if (size < 0 || next + size > operands.size())
        return fail("expected 'operandSegmentSizes' to cover ", operands.size(), " operands");
      groups.emplace_back(operands.begin() + next, operands.begin() + next + size);
      next += size;
    }
  } else {
    for (ValueId operand : operands)
      groups.push_back({operand});
  }
  if (groups.size() < count)
    groups.resize(count);
  for (size_t group = 0; group < required; ++group)
    if (groups[group].empty())
      return fail("expected an operand in group ", group, " of ", count, ", found none");
  return groups;
}

Expected<Program> parseProgram(std::string_view json) {
  Expected<Json> parsed = plan::parseJson(json, "malformed program");
  if (!parsed)
    return parsed.takeError();
  return Reader().read(*parsed);
}

} // namespace pe::reference
