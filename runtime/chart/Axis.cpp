//===- Axis.cpp - Scales and ticks of axes --------------------------------===//

#include "runtime/chart/Axis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace pe::chart {

void Range::add(double value) {
  if (!isDrawable(value))
    return;
  low = std::min(low, value);
  high = std::max(high, value);
}

void Range::widen() {
  if (isEmpty()) {
    low = 0;
    high = 1;
  } else if (low == high) {
    const double margin = low == 0 ? 0.5 : 0.5 * std::abs(low);
    low -= margin;
    high += margin;
  }
}

static double base(Scale::Kind kind) { return kind == Scale::Kind::Log2 ? 2 : 10; }

double Scale::operator()(double value) const {
  double a = low, b = high;
  if (kind != Kind::Linear) {
    a = std::log(a);
    b = std::log(b);
    value = std::log(value);
  }
  return from + (to - from) * ((value - a) / (b - a));
}

/// Returns 1, 2 and 5 times the powers of ten inside the range, or nothing if they are too dense.
static std::vector<double> partsOfDecades(const Scale &scale, double gap) {
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(scale.low))); power <= scale.high;
       power *= 10)
    for (double factor : {1, 2, 5})
      if (const double tick = factor * power; tick >= scale.low && tick <= scale.high)
        ticks.push_back(tick);
  for (size_t n = 1; n < ticks.size(); ++n)
    if (std::abs(scale(ticks[n]) - scale(ticks[n - 1])) < gap)
      return {};
  return ticks;
}

/// Returns the powers of the base inside the range, with a step that keeps them `gap` pixels apart.
static std::vector<double> powers(const Scale &scale, double gap) {
  const double base = chart::base(scale.kind);
  const double first = std::ceil(std::log(scale.low) / std::log(base) - 1e-9);
  const double last = std::floor(std::log(scale.high) / std::log(base) + 1e-9);
  const double apart = std::abs(scale(base * scale.low) - scale(scale.low));
  const double step = std::max(1.0, std::ceil(gap / apart - 1e-9));
  std::vector<double> ticks;
  for (double exponent = std::ceil(first / step) * step; exponent <= last; exponent += step)
    ticks.push_back(std::pow(base, exponent));
  return ticks;
}

std::vector<double> Scale::ticks(double gap) const {
  const double room = std::abs(to - from);
  if (!(low < high) || !(gap > 0) || room < gap)
    return {};
  std::vector<double> ticks;
  if (kind == Kind::Log10)
    ticks = partsOfDecades(*this, gap);
  if (!ticks.empty())
    return ticks;
  if (kind != Kind::Linear && high / low >= base(kind))
    return powers(*this, gap);
  for (int count = static_cast<int>(std::min(room / gap, 10.0)); count >= 1; --count) {
    ticks = axisTicks(low, high, count);
    if (ticks.size() < 2 || std::abs((*this)(ticks[1]) - (*this)(ticks[0])) >= gap)
      break;
  }
  return ticks;
}

std::vector<double> axisTicks(double low, double high, int count) {
  if (!(low < high) || !std::isfinite(high - low) || count < 1)
    return {};
  const double raw = (high - low) / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = power;
  for (double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = factor * power;
    if (step >= raw * (1 - 1e-9))
      break;
  }
  std::vector<double> ticks;
  if (!(low + step > low)) // the range is a few units in the last place of its ends
    return ticks;
  for (double n = std::ceil(low / step - 1e-3); n * step <= high + 1e-3 * step; n += 1)
    ticks.push_back(n == 0 ? 0 : n * step);
  return ticks;
}

std::string formatNumber(double value) {
  if (std::isnan(value))
    return "NaN";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char text[64];
  const double size = std::abs(value);
  const bool isWhole = size < 1e7 && value == std::floor(value);
  if (isWhole) {
    std::snprintf(text, sizeof text, "%.0f", value == 0 ? 0.0 : value);
    return text;
  }
  std::snprintf(text, sizeof text, size >= 1e5 || size < 1e-3 ? "%.3e" : "%.4g", value);
  std::string result = text;
  const size_t exponent = result.find('e');
  if (exponent == std::string::npos)
    return result;
  // "2.500e-06" as "2.5e-6".
  std::string digits = result.substr(0, exponent), power = result.substr(exponent + 2);
  if (digits.find('.') != std::string::npos) {
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.')
      digits.pop_back();
  }
  power.erase(0, std::min(power.find_first_not_of('0'), power.size() - 1));
  return digits + "e" + (result[exponent + 1] == '-' ? "-" : "") + power;
}

double textWidth(const std::string &text, double size) {
  double letters = 0;
  for (unsigned char c : text)
    letters += (c & 0xC0) != 0x80; // skips UTF-8 continuation bytes
  return 0.58 * size * letters;
}

} // namespace pe::chart
