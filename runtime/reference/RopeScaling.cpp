//===- RopeScaling.cpp - RoPE scaling for long contexts -------------------===//

#include "runtime/reference/RopeScaling.h"

#include "runtime/reference/RopeKinds.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace pe::reference {

constexpr double kPi = 3.14159265358979323846;

double RopeScaling::get(const std::string &name) const {
  auto found = numbers.find(name);
  return found == numbers.end() ? 0.0 : found->second;
}

/// Returns the end of the part of `text` that begins at `start`: the next comma outside of
/// brackets, or the end of the text.
static size_t endOfPart(const std::string &text, size_t start) {
  int depth = 0;
  for (size_t n = start; n < text.size(); ++n) {
    depth += text[n] == '[' ? 1 : text[n] == ']' ? -1 : 0;
    if (text[n] == ',' && depth == 0)
      return n;
  }
  return text.size();
}

/// Parses "[1.0,2.0]".
static std::vector<double> parseList(const std::string &text) {
  std::vector<double> numbers;
  for (size_t at = text.find('['); at < text.size() && text[at] != ']';
       at = text.find_first_of(",]", at + 1))
    numbers.push_back(std::strtod(text.c_str() + at + 1, nullptr));
  return numbers;
}

/// Parses "#pe.rope_scaling<yarn, factor = 4.0, original_length = 2048>".
Expected<RopeScaling> readScaling(const Operation &operation) {
  RopeScaling scaling;
  const Attribute *attribute = operation.find("scaling");
  if (!attribute)
    return scaling;
  auto *text = std::get_if<std::string>(&attribute->value);
  if (!text || text->find('<') == std::string::npos || text->back() != '>')
    return operation.fail("expected a scaling such as #pe.rope_scaling<linear, factor = 4.0>");
  std::string rest = text->substr(text->find('<') + 1);
  rest.pop_back();
  for (size_t start = 0; start <= rest.size();) {
    const size_t end = endOfPart(rest, start);
    std::string part = rest.substr(start, end - start);
    start = end + 1;
    std::erase(part, ' ');
    const size_t equal = part.find('=');
    if (equal == std::string::npos)
      scaling.kind = part;
    else if (part.back() == ']')
      scaling.lists[part.substr(0, equal)] = parseList(part.substr(equal + 1));
    else
      scaling.numbers[part.substr(0, equal)] = std::strtod(part.c_str() + equal + 1, nullptr);
  }
  for (const RopeKind &kind : kRopeKinds) {
    if (scaling.kind != kind.name)
      continue;
    for (const RopeNumber &number : {kind.first, kind.second})
      if (number.name && number.standard != 0)
        scaling.numbers.try_emplace(number.name, number.standard);
    if (kind.hasFactors && scaling.lists.size() != 2)
      return operation.fail("expected short_factor and long_factor, found ", scaling.lists.size(),
                            " lists");
    return scaling;
  }
  return operation.fail("has a scaling '", scaling.kind, "' that the reference does not support");
}

/// Returns base^(-2 pair / n).
static Dual plainFrequency(Dual base, int64_t pair, int64_t n) {
  const double power = -2.0 * static_cast<double>(pair) / static_cast<double>(n);
  return {std::pow(base.value, power), power * std::pow(base.value, power - 1.0) * base.slope};
}

/// Returns (1 - share) f / factor + share f.
static Dual blend(Dual f, double factor, Dual share) {
  const double weight = (1.0 - share.value) / factor + share.value;
  return {f.value * weight, f.slope * weight + f.value * share.slope * (1.0 - 1.0 / factor)};
}

static Dual clampToUnit(Dual x) {
  if (x.value < 0.0 || x.value > 1.0)
    return {std::clamp(x.value, 0.0, 1.0), 0.0};
  return x;
}

/// Peng et al. 2023, section 3.2, with the correction range rounded to integers as in their code.
static Dual yarnFrequency(const RopeScaling &scaling, Dual base, int64_t pair, int64_t n) {
  const double length = scaling.get("original_length"), dims = static_cast<double>(n);
  const auto dimOf = [&](double rotations) {
    return dims * std::log(length / (rotations * 2.0 * kPi)) / (2.0 * std::log(base.value));
  };
  const double low = std::max(std::floor(dimOf(scaling.get("beta_fast"))), 0.0);
  double high = std::min(std::ceil(dimOf(scaling.get("beta_slow"))), dims - 1.0);
  if (high - low < 0.001)
    high = low + 0.001;
  const double ramp = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
  return blend(plainFrequency(base, pair, n), scaling.get("factor"), {1.0 - ramp, 0.0});
}

/// Llama 3.1: interpolates according to the wavelength 2 pi / f.
static Dual llamaFrequency(const RopeScaling &scaling, Dual base, int64_t pair, int64_t n) {
  const double low = scaling.get("low"), high = scaling.get("high");
  const double length = scaling.get("original_length");
  const Dual f = plainFrequency(base, pair, n);
  const double turns = length / (2.0 * kPi);
  const Dual smooth = {(turns * f.value - low) / (high - low), turns * f.slope / (high - low)};
  return blend(f, scaling.get("factor"), clampToUnit(smooth));
}

Dual scaledFrequency(const RopeScaling &scaling, Dual base, int64_t pair, int64_t n,
                     int64_t length) {
  const double factor = scaling.get("factor");
  if (scaling.kind == "linear")
    return blend(plainFrequency(base, pair, n), factor, {0.0, 0.0});
  if (scaling.kind == "yarn")
    return yarnFrequency(scaling, base, pair, n);
  if (scaling.kind == "llama3")
    return llamaFrequency(scaling, base, pair, n);
  if (scaling.kind == "longrope") {
    const bool isLong = static_cast<double>(length) > scaling.get("original_length");
    const double divisor =
        scaling.lists.at(isLong ? "long_factor" : "short_factor").at(static_cast<size_t>(pair));
    return blend(plainFrequency(base, pair, n), divisor, {0.0, 0.0});
  }
  if (scaling.kind == "proportional") {
    const auto pairs = static_cast<double>(n / 2);
    if (static_cast<double>(pair) + 1.0 > scaling.get("partial_rotary_factor") * pairs)
      return {0.0, 0.0};
    return blend(plainFrequency(base, pair, n), factor, {0.0, 0.0});
  }
  double stretch = 1.0;
  if (scaling.kind == "ntk")
    stretch = factor;
  if (scaling.kind == "dynamic_ntk") {
    const double original = scaling.get("original_length");
    const double end = std::max(static_cast<double>(length), original);
    stretch = factor * end / original - (factor - 1.0);
  }
  if (stretch != 1.0) {
    const double power = std::pow(stretch, static_cast<double>(n) / static_cast<double>(n - 2));
    base = {base.value * power, base.slope * power};
  }
  return plainFrequency(base, pair, n);
}

double attentionFactor(const RopeScaling &scaling) {
  const double factor = scaling.get("factor");
  if (const double given = scaling.get("attention_factor"); given != 0.0)
    return given;
  if (factor <= 1.0)
    return 1.0;
  if (scaling.kind == "longrope")
    return std::sqrt(std::log(factor * scaling.get("original_length")) /
                     std::log(scaling.get("original_length")));
  return scaling.kind == "yarn" ? 0.1 * std::log(factor) + 1.0 : 1.0;
}

} // namespace pe::reference
