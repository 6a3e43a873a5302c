//===- Csv.cpp - Comma-separated values -----------------------------------===//

#include "runtime/chart/Csv.h"

#include <charconv>
#include <cmath>

namespace pe::chart {

/// Quotes the text if it contains a comma, a quote or a line break.
static std::string quoted(const std::string &text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos)
    return text;
  std::string out = "\"";
  for (char c : text) {
    out += c;
    if (c == '"')
      out += c;
  }
  return out + "\"";
}

static std::string textOf(const Csv::Cell &cell) {
  if (const auto *text = std::get_if<std::string>(&cell))
    return quoted(*text);
  char text[32];
  std::to_chars_result end{};
  if (const auto *whole = std::get_if<int64_t>(&cell))
    end = std::to_chars(text, text + sizeof text, *whole);
  else if (const double value = std::get<double>(cell); std::isnan(value))
    return "nan"; // without a sign
  else
    end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

Csv::Csv(const std::vector<std::string> &columns) {
  for (const std::string &column : columns)
    out += (out.empty() ? "" : ",") + quoted(column);
  out += "\n";
}

void Csv::add(const std::vector<Cell> &row) {
  for (size_t n = 0; n < row.size(); ++n)
    out += (n ? "," : "") + textOf(row[n]);
  out += "\n";
}

} // namespace pe::chart
