//===- ColorMap.cpp - Colors of values and lines --------------------------===//

#include "runtime/chart/ColorMap.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace pe::chart {
namespace {

/// The palette of Okabe and Ito, with gray and brown instead of colors too light for white.
constexpr std::array<std::string_view, kLineColors> kLines = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#8b5a2b"};

/// The same hues, light enough for a dark background.
constexpr std::array<std::string_view, kLineColors> kDarkLines = {
    "#58a6e8", "#ff8c42", "#2ec4a0", "#e39ac5", "#9ad4f5", "#f5c242", "#b0b0b0", "#c79a6b"};

using Anchors = std::vector<Rgb>;
/// Dark violet, blue, teal, green, yellow.
const Anchors kAnchors = {
    {62, 8, 80}, {58, 76, 140}, {30, 140, 142}, {96, 198, 96}, {250, 230, 50}};
const Anchors kNegative = {{247, 245, 240}, {140, 184, 222}, {46, 112, 186}, {18, 44, 104}};
const Anchors kPositive = {{247, 245, 240}, {240, 168, 130}, {206, 74, 62}, {106, 12, 36}};
constexpr int kColors = 256;

double linearOf(uint8_t channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

uint8_t channelOf(double linear) {
  const double c = linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
  return static_cast<uint8_t>(std::lround(255 * std::clamp(c, 0.0, 1.0)));
}

Rgb toRgb(const OkLab &lab) {
  auto cube = [](double x) { return x * x * x; };
  const double l = cube(lab[0] + 0.3963377774 * lab[1] + 0.2158037573 * lab[2]);
  const double m = cube(lab[0] - 0.1055613458 * lab[1] - 0.0638541728 * lab[2]);
  const double s = cube(lab[0] - 0.0894841775 * lab[1] - 1.2914855480 * lab[2]);
  return {channelOf(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          channelOf(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          channelOf(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

double distance(const OkLab &a, const OkLab &b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

/// Evaluates a Catmull-Rom spline through the points, which makes hues change gradually.
OkLab curveAt(const std::vector<OkLab> &points, double place) {
  const int last = static_cast<int>(points.size()) - 1;
  const int at = std::min(static_cast<int>(place), last - 1);
  const double t = place - at;
  OkLab lab{};
  for (size_t c = 0; c < lab.size(); ++c) {
    const double b = points[at][c], d = points[at + 1][c];
    const double before = at > 0 ? points[at - 1][c] : 2 * b - d;
    const double after = at + 1 < last ? points[at + 2][c] : 2 * d - b;
    lab[c] = 0.5 * (2 * b + (d - before) * t + (2 * before - 5 * b + 4 * d - after) * t * t +
                    (3 * b - before - 3 * d + after) * t * t * t);
  }
  return lab;
}

/// Samples the spline through the anchors at equal steps of arc length.
std::array<Rgb, kColors> makeTable(const Anchors &anchors) {
  constexpr int kSteps = 4096;
  const double end = static_cast<double>(anchors.size()) - 1;
  std::vector<OkLab> points;
  for (const Rgb &anchor : anchors)
    points.push_back(toOkLab(anchor));
  std::vector<double> length = {0};
  for (int n = 1; n <= kSteps; ++n)
    length.push_back(length.back() + distance(curveAt(points, end * (n - 1) / kSteps),
                                              curveAt(points, end * n / kSteps)));
  std::array<Rgb, kColors> table{};
  for (int n = 0; n < kColors; ++n) {
    const double wanted = length.back() * n / (kColors - 1);
    const auto found = std::lower_bound(length.begin(), length.end(), wanted);
    const double step =
        static_cast<double>(std::min<std::ptrdiff_t>(found - length.begin(), kSteps));
    table[n] = toRgb(curveAt(points, end * step / kSteps));
  }
  return table;
}

} // namespace

OkLab toOkLab(const Rgb &color) {
  const double r = linearOf(color[0]), g = linearOf(color[1]), b = linearOf(color[2]);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

static Rgb colorAt(const std::array<Rgb, kColors> &table, double fraction) {
  if (!(fraction > 0))
    return table.front();
  return table[static_cast<size_t>(std::lround(std::min(fraction, 1.0) * (kColors - 1)))];
}

Rgb mapColor(double fraction) {
  static const std::array<Rgb, kColors> table = makeTable(kAnchors);
  return colorAt(table, fraction);
}

Rgb mapSignedColor(double fraction) {
  static const std::array<Rgb, kColors> negative = makeTable(kNegative),
                                        positive = makeTable(kPositive);
  return fraction < 0 ? colorAt(negative, -fraction) : colorAt(positive, fraction);
}

std::string hexOf(const Rgb &color) {
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", color[0], color[1], color[2]);
  return text;
}

std::string_view lineColor(size_t index) { return kLines[index % kLines.size()]; }

std::string_view darkLineColor(size_t index) { return kDarkLines[index % kDarkLines.size()]; }

} // namespace pe::chart
