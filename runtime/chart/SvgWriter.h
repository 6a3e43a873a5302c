//===- SvgWriter.h - Writer of SVG documents --------------------*- C++ -*-===//
//
// Writes documents that every viewer shows equally, with literal colors on a white background and
// text as text elements. Shapes have a class (ink, soft, axis, grid, page, masked), so that a style
// sheet can change their colors: the style sheet of the enclosing page, or the one of `asFile` for
// dark mode.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CHART_SVGWRITER_H
#define PE_RUNTIME_CHART_SVGWRITER_H

#include <string>
#include <string_view>
#include <vector>

namespace pe::chart {

inline constexpr double kFontSize = 11;
/// The common width of charts that are shown below each other, so that their fonts have one size.
inline constexpr double kPictureWidth = 700;

enum class Anchor { Start, Middle, End };

/// Formats like printf and returns a string.
std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/// Replaces & < > and quotes by entities, and control characters, which XML does not allow, and
/// invalid UTF-8 by '?'.
std::string escapeXml(std::string_view text);

/// Breaks the text at spaces into lines of at most `width` pixels.
std::vector<std::string> wrapText(const std::string &text, double size, double width);

/// Adds a style sheet that changes the colors in dark mode to a drawing of `toSvg`.
std::string asFile(const std::string &svg);

class SvgWriter {
public:
  /// Opens a document with a white background.
  SvgWriter(double width, double height);

  void text(double x, double y, std::string_view content, Anchor anchor = Anchor::Start,
            std::string_view attributes = "");
  /// Writes the title and, in a smaller font, the lines of the subtitle.
  void title(double x, std::string_view title, const std::vector<std::string> &subtitle);
  /// Returns the top of a drawing below a title and the lines of a subtitle.
  static double topBelow(const std::vector<std::string> &subtitle);
  /// Writes the label of a vertical axis, rotated to read upwards.
  void textUpwards(double x, double y, std::string_view content, double size = kFontSize);
  void line(double x1, double y1, double x2, double y2, std::string_view kind);
  /// Appends markup without escaping it.
  void raw(std::string_view markup) { out += markup; }
  /// Closes the document.
  std::string finish() { return out + "</svg>\n"; }

private:
  std::string out;
};

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_SVGWRITER_H
