//===- ColorMap.h - Colors of values and lines ------------------*- C++ -*-===//
//
// The sequential map goes from dark violet over blue and green to yellow, at constant speed in
// OKLab, a perceptually uniform color space (Ottosson, "A perceptual color space for image
// processing", 2020). Equal differences of values look equal, and lightness increases
// monotonically, so the map can also be read in grayscale.
//
// The signed map is centered at 0: blue below, near white at 0, red above. Each half has constant
// speed.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CHART_COLORMAP_H
#define PE_RUNTIME_CHART_COLORMAP_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pe::chart {

/// Red, green and blue, from 0 to 255.
using Rgb = std::array<uint8_t, 3>;
/// Lightness, green to red, and blue to yellow.
using OkLab = std::array<double, 3>;

OkLab toOkLab(const Rgb &color);

/// Returns the color of a value from 0 (dark) to 1 (light). Other values are clamped; NaN maps to
/// the color of 0.
Rgb mapColor(double fraction);

/// Returns the color of a signed value from -1 (blue) to 1 (red), near white at 0. Other values are
/// clamped; NaN maps to the color of 0.
Rgb mapSignedColor(double fraction);

/// Formats a color as "#1a2b3c".
std::string hexOf(const Rgb &color);

/// Returns the color of line `index`, from a palette for all kinds of color vision. Repeats after
/// kLineColors.
std::string_view lineColor(size_t index);
/// Returns the color of line `index` on a dark background.
std::string_view darkLineColor(size_t index);
inline constexpr size_t kLineColors = 8;

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_COLORMAP_H
