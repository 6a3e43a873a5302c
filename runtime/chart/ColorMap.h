//===- ColorMap.h - Colours of numbers and of lines -------------*- C++ -*-===//
//
// Numbers are shown from dark violet over blue and green to yellow. The way through these colours
// is walked at constant speed in OKLab, a space whose distances are about those that eyes see
// (Ottosson, "A perceptual color space for image processing", 2020): equal differences of the
// number look equal, and lightness only rises, so that the map also reads in grey.
//
// Signed numbers are shown around 0: blue below, near white at 0, red above, each half at constant
// speed, too.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CHART_COLORMAP_H
#define PE_RUNTIME_CHART_COLORMAP_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pe::chart {

/// Red, green and blue of 0 to 255.
using Rgb = std::array<uint8_t, 3>;
/// Lightness, green to red, blue to yellow.
using OkLab = std::array<double, 3>;

OkLab toOkLab(const Rgb &color);

/// The colour of a number between 0 (dark) and 1 (light); others are clamped, NaN is 0.
Rgb mapColor(double fraction);

/// The colour of a signed number between -1 (blue) and 1 (red), near white at 0; others are
/// clamped, NaN is 0.
Rgb mapSignedColor(double fraction);

/// "#1a2b3c"
std::string hexOf(const Rgb &color);

/// The colour of line `index`, for readers with any kind of colour vision; repeats after
/// kLineColors.
std::string_view lineColor(size_t index);
/// The same on dark paper.
std::string_view darkLineColor(size_t index);
inline constexpr size_t kLineColors = 8;

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_COLORMAP_H
