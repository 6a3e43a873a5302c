//===- SvgWriter.cpp - Writer of SVG documents ----------------------------===//

#include "runtime/chart/SvgWriter.h"

#include "runtime/chart/Axis.h"
#include "runtime/chart/ColorMap.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace pe::chart {

std::string format(const char *pattern, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

/// Returns the number of bytes of the UTF-8 character at `at`, or 0 if it is invalid.
static size_t utf8Length(std::string_view text, size_t at) {
  const auto byte = [&](size_t n) { return static_cast<unsigned char>(text[n]); };
  const unsigned char lead = byte(at);
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF5 ? 4
                                                      : 0;
  if (length == 0 || at + length > text.size())
    return 0;
  for (size_t n = 1; n < length; ++n)
    if ((byte(at + n) & 0xC0) != 0x80)
      return 0;
  const unsigned char next = length > 1 ? byte(at + 1) : 0;
  // Overlong encodings, surrogates, code points above U+10FFFF, U+FFFE and U+FFFF.
  const bool isBad = (lead == 0xE0 && next < 0xA0) || (lead == 0xED && next >= 0xA0) ||
                     (lead == 0xF0 && next < 0x90) || (lead == 0xF4 && next >= 0x90) ||
                     (lead == 0xEF && next == 0xBF && byte(at + 2) >= 0xBE);
  return isBad ? 0 : length;
}

std::string escapeXml(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8Length(text, at);
    const char c = text[at];
    if (length == 0 || (length == 1 && static_cast<unsigned char>(c) < 0x20))
      out += '?';
    else if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += text.substr(at, length);
    at += length ? length : 1;
  }
  return out;
}

std::vector<std::string> wrapText(const std::string &text, double size, double width) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!lines.empty() && textWidth(lines.back() + " " + word, size) <= width)
      lines.back() += " " + word;
    else
      lines.push_back(word);
    at = end + 1;
  }
  return lines;
}

std::string asFile(const std::string &svg) {
  std::string style =
      "<style>@media (prefers-color-scheme:dark){.page{fill:#0d1117}.ink{fill:#e6edf3}"
      ".soft{fill:#9da7b1}.axis{stroke:#9da7b1}.grid{stroke:#30363d}.masked{fill:#333b45}";
  for (size_t n = 0; n < kLineColors; ++n) {
    const std::string light(lineColor(n)), dark(darkLineColor(n));
    for (const char *what : {"stroke", "fill"})
      style += format("[%s=\"%s\"]{%s:%s}", what, light.c_str(), what, dark.c_str());
  }
  const size_t begin = svg.find('\n') + 1;
  return svg.substr(0, begin) + style + "}</style>\n" + svg.substr(begin);
}

SvgWriter::SvgWriter(double width, double height) {
  out = format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
               "height=\"%.0f\" font-family=\"system-ui, Helvetica, Arial, sans-serif\" "
               "font-size=\"%.0f\">\n<rect class=\"page\" width=\"%.0f\" height=\"%.0f\" "
               "fill=\"#ffffff\"/>\n",
               width, height, width, height, kFontSize, width, height);
}

void SvgWriter::text(double x, double y, std::string_view content, Anchor anchor,
                     std::string_view attributes) {
  static constexpr const char *kAnchors[] = {"start", "middle", "end"};
  const bool isColored = attributes.find("fill=") != std::string_view::npos;
  out += format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"", x, y,
                kAnchors[static_cast<int>(anchor)]);
  out += isColored ? "" : " class=\"ink\" fill=\"#222222\"";
  if (!attributes.empty())
    out += " " + std::string(attributes);
  out += ">" + escapeXml(content) + "</text>\n";
}

constexpr double kSubtitleGap = 13;

void SvgWriter::title(double x, std::string_view title, const std::vector<std::string> &subtitle) {
  text(x, 19, title, Anchor::Start, "font-size=\"13\" font-weight=\"600\"");
  for (size_t n = 0; n < subtitle.size(); ++n)
    text(x, 34 + kSubtitleGap * static_cast<double>(n), subtitle[n], Anchor::Start,
         "class=\"soft\" font-size=\"10\" fill=\"#666677\"");
}

double SvgWriter::topBelow(const std::vector<std::string> &subtitle) {
  return 32 + (subtitle.empty() ? 0 : kSubtitleGap * static_cast<double>(subtitle.size()) + 1);
}

void SvgWriter::textUpwards(double x, double y, std::string_view content, double size) {
  text(0, 0, content, Anchor::Middle,
       format("transform=\"translate(%.1f %.1f) rotate(-90)\"", x, y) +
           (size == kFontSize ? "" : format(" font-size=\"%.0f\"", size)));
}

void SvgWriter::line(double x1, double y1, double x2, double y2, std::string_view kind) {
  out += format("<line class=\"%.*s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                "stroke=\"%s\"/>\n",
                static_cast<int>(kind.size()), kind.data(), x1, y1, x2, y2,
                kind == "grid" ? "#dddddd" : "#222222");
}

} // namespace pe::chart
