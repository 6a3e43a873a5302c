//===- SvgWriter.h - Shapes and words as SVG --------------------*- C++ -*-===//
//
// A document that any viewer shows as it is: literal colours on white paper, text as text. Shapes
// carry a class (ink, soft, axis, grid, page, masked), so that a style sheet can give them other
// colours: that of the page that the drawing is part of, or that of `asFile` for dark screens.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_CHART_SVGWRITER_H
#define PE_RUNTIME_CHART_SVGWRITER_H

#include <string>
#include <string_view>
#include <vector>

namespace pe::chart {

inline constexpr double kFontSize = 11;
/// The width of pictures that stand below each other, whose letters are to have one size.
inline constexpr double kPictureWidth = 700;

enum class Anchor { Start, Middle, End };

/// printf into a string.
std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/// & < > and quotes as entities; control characters, which XML cannot hold, and bytes that are no
/// UTF-8 as '?'.
std::string escapeXml(std::string_view text);

/// The text in lines of at most `width` pixels, broken at spaces.
std::vector<std::string> wrapText(const std::string &text, double size, double width);

/// A drawing of `toSvg` with a style sheet of its own, which changes its colours on dark screens.
std::string asFile(const std::string &svg);

class SvgWriter {
public:
  /// Opens a document with a white background.
  SvgWriter(double width, double height);

  void text(double x, double y, std::string_view content, Anchor anchor = Anchor::Start,
            std::string_view attributes = "");
  /// Title and, smaller, the lines below it.
  void title(double x, std::string_view title, const std::vector<std::string> &subtitle);
  /// Where a drawing begins below a title and lines of a subtitle.
  static double topBelow(const std::vector<std::string> &subtitle);
  /// A label of a vertical axis, read from below.
  void textUpwards(double x, double y, std::string_view content, double size = kFontSize);
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
