//===- JsonReader.h - Reading of untrusted JSON -----------------*- C++ -*-===//
//
// Input is not trusted: a missing field or one of the wrong type is an error that names it.
// nlohmann::json is used without exceptions: parseJson (JsonText.h) returns an error, and the type
// is checked before every access.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_PLAN_JSONREADER_H
#define PE_RUNTIME_PLAN_JSONREADER_H

#include "pe/DType.h"
#include "pe/Error.h"
#include "runtime/plan/JsonText.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace pe::plan {

using Json = nlohmann::json;

/// Reads the fields of one JSON object and keeps the first error.
class JsonReader {
public:
  JsonReader(const Json &json, std::string where) : json(json), where(std::move(where)) {
    if (!json.is_object())
      fail("expected an object");
  }

  void read(const char *key, std::string &out) {
    if (const Json *value = get(key, &Json::is_string, "a string"))
      out = value->get_ref<const std::string &>();
  }
  void read(const char *key, bool &out) {
    if (const Json *value = get(key, &Json::is_boolean, "true or false"))
      out = value->get<bool>();
  }
  void read(const char *key, int64_t &out) {
    if (const Json *value = getInteger(key))
      out = value->get<int64_t>();
  }
  void read(const char *key, int &out) {
    int64_t wide = out;
    read(key, wide);
    if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
      return fail(std::string("'") + key + "': expected a 32-bit integer");
    out = static_cast<int>(wide);
  }
  void read(const char *key, std::vector<std::string> &out) {
    for (const Json &item : array(key)) {
      if (!item.is_string())
        return fail(std::string("'") + key + "': expected a list of strings");
      out.push_back(item.get_ref<const std::string &>());
    }
  }
  void read(const char *key, std::vector<int> &out) {
    for (const Json &item : array(key)) {
      if (!isInteger(item) || item.get<int64_t>() < 0 ||
          item.get<int64_t>() > std::numeric_limits<int>::max())
        return fail(std::string("'") + key + "': expected a list of integers >= 0");
      out.push_back(item.get<int>());
    }
  }
  void read(const char *key, std::vector<int64_t> &out) {
    for (const Json &item : array(key)) {
      if (!isInteger(item))
        return fail(std::string("'") + key + "': expected a list of integers");
      out.push_back(item.get<int64_t>());
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
  /// Reads an enumerator by its `nameOf`; the enumeration has the values 0 to `count` - 1.
  template <typename Enum> void readEnum(const char *key, Enum &out, int count) {
    std::string name;
    read(key, name);
    for (int i = 0; i < count; ++i)
      if (nameOf(static_cast<Enum>(i)) == name) { // found by argument-dependent lookup
        out = static_cast<Enum>(i);
        return;
      }
    fail(std::string("'") + key + "': unknown value '" + name + "'");
  }
  template <typename T, typename Number> void readOptional(const char *key, T &out, Number) {
    if (!has(key))
      return;
    const Json *value =
        std::is_integral_v<Number> ? getInteger(key) : get(key, &Json::is_number, "a number");
    if (value)
      out = value->get<Number>();
  }
  /// Returns the list `key`, or an empty list after an error.
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
  /// Returns true if the value fits in int64_t; other conversions are undefined behaviour.
  static bool isInteger(const Json &value) {
    return value.is_number_integer() &&
           (!value.is_number_unsigned() ||
            value.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()});
  }
  const Json *getInteger(const char *key) {
    const Json *value = get(key, &Json::is_number_integer, "an integer");
    if (!value || isInteger(*value))
      return value;
    fail(std::string("'") + key + "': expected a 64-bit integer");
    return nullptr;
  }
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

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_JSONREADER_H
