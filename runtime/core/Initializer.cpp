//===- Initializer.cpp - Initial values of parameters ---------------------===//

#include "runtime/core/Initializer.h"

#include <charconv>
#include <cmath>
#include <vector>

namespace pe {
namespace {

/// A parsed "word(a,b)"; a plain number has one argument and no word.
struct InitCall {
  std::string word;
  std::vector<double> arguments;
};

bool parseNumber(std::string_view text, double &value) {
  while (text.starts_with(' '))
    text.remove_prefix(1);
  while (text.ends_with(' '))
    text.remove_suffix(1);
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

/// Returns false if `text` does not have this form. The argument of "slopes", a word, is dropped.
bool parseInit(std::string_view text, InitCall &call) {
  double number = 0;
  if (parseNumber(text, number)) {
    call.arguments = {number};
    return true;
  }
  size_t open = text.find('(');
  call.word = text.substr(0, open);
  if (open == std::string_view::npos)
    return true;
  if (!text.ends_with(')'))
    return false;
  std::string_view list = text.substr(open + 1, text.size() - open - 2);
  if (call.word == "slopes")
    return list == "geometric";
  while (true) {
    size_t comma = list.find(',');
    if (!parseNumber(list.substr(0, comma), number))
      return false;
    call.arguments.push_back(number);
    if (comma == std::string_view::npos)
      return true;
    list.remove_prefix(comma + 1);
  }
}

void fillUniform(std::span<float> values, double low, double high, Random &random) {
  for (float &value : values)
    value = static_cast<float>(random.uniform(low, high));
}

void fillNormal(std::span<float> values, double deviation, Random &random) {
  for (float &value : values)
    value = static_cast<float>(deviation * random.normal());
}

} // namespace

Status fillByInit(const std::string &init, const Shape &shape, std::span<float> values,
                  Random &random) {
  InitCall call;
  bool known = parseInit(init, call);
  double fanIn = shape.size() > 1 ? static_cast<double>(shape.back()) : 1;
  double fanOut = shape.empty() ? 1 : static_cast<double>(shape.front());
  auto is = [&](std::string_view word, size_t arguments) {
    return known && call.word == word && call.arguments.size() == arguments;
  };
  if (is("", 1)) {
    for (float &value : values)
      value = static_cast<float>(call.arguments[0]);
  } else if (is("linear", 0) || is("linear", 1)) {
    double bound = 1 / std::sqrt(call.arguments.empty() ? fanIn : call.arguments[0]);
    fillUniform(values, -bound, bound, random);
  } else if (is("xavier", 1)) {
    double bound = call.arguments[0] * std::sqrt(6 / (fanIn + fanOut));
    fillUniform(values, -bound, bound, random);
  } else if (is("normal", 1)) {
    fillNormal(values, call.arguments[0], random);
  } else if (is("uniform", 2)) {
    fillUniform(values, call.arguments[0], call.arguments[1], random);
  } else if (is("integers", 2)) {
    for (float &value : values)
      value = static_cast<float>(std::floor(random.uniform(call.arguments[0], call.arguments[1])));
  } else if (is("slopes", 0)) {
    double heads = static_cast<double>(values.size());
    for (size_t h = 0; h < values.size(); ++h)
      values[h] = static_cast<float>(std::exp2(-8 * static_cast<double>(h + 1) / heads));
  } else {
    return makeError("expected pe.init to be a number, \"linear\", \"linear(fan_in)\", "
                     "\"xavier(gain)\", \"normal(std)\", \"uniform(a,b)\", "
                     "\"integers(a,b)\" or \"slopes(geometric)\", found \"",
                     init, "\"");
  }
  return Status::success();
}

} // namespace pe
