//===- SvgWriter.h - Shapes and words as SVG --------------------*- C++ -*-===//
//
// A document that any viewer shows as it is: literal colours on white paper, text as text. Shapes
// carry a class (ink, axis, grid, page), so that a page's style sheet can give them other colours.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CHART_SVGWRITER_H
#define PE_RUNTIME_CHART_SVGWRITER_H

#include <string>
#include <string_view>

namespace pe::chart {

inline constexpr double kFontSize = 11;

enum class Anchor { Start, Middle, End };

/// printf into a string.
std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/// & < > and quotes as entities; control characters, which XML cannot hold, and bytes that are no
/// UTF-8 as '?'.
std::string escapeXml(std::string_view text);

class SvgWriter {
public:
  /// Opens a document with a white background.
  SvgWriter(double width, double height);

  void text(double x, double y, std::string_view content, Anchor anchor = Anchor::Start,
            std::string_view attributes = "");
  /// Title and, smaller, what is below it.
  void title(double x, std::string_view title, std::string_view subtitle);
  /// A label of a vertical axis, read from below.
  void textUpwards(double x, double y, std::string_view content);
  void line(double x1, double y1, double x2, double y2, std::string_view kind);
  /// SVG as it stands.
  void raw(std::string_view markup) { out += markup; }
  /// Closes the document.
  std::string finish() { return out + "</svg>\n"; }

private:
  std::string out;
};

} // namespace pe::chart

#endif // PE_RUNTIME_CHART_SVGWRITER_H
