//===- Table.cpp - Text of the tables of a report -------------------------===//
#include "runtime/train/report/Table.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace pe::train {
namespace {

std::string fixed(double value, int digits = 3) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

const EncodingResult *findRow(const ReportContent &content, const std::string &name) {
  const auto found =
      std::find_if(content.results.begin(), content.results.end(),
                   [&](const EncodingResult &result) { return result.name == name; });
  return found == content.results.end() ? nullptr : &*found;
}

/// Returns the values of an operand for all seeds, or nothing if it was not measured.
std::vector<double> valuesOf(const ReportContent &content, const Operand &operand, size_t seeds) {
  if (operand.row.empty())
    return std::vector<double>(seeds, operand.constant);
  const EncodingResult *row = findRow(content, operand.row);
  if (!row)
    return {};
  for (const auto &[length, values] : row->bySeed)
    if (std::to_string(length) == operand.column)
      return values;
  const auto found = row->more.find(operand.column);
  return found == row->more.end() ? std::vector<double>() : found->second;
}

/// Returns the margin of a - b - by, or no seeds unless both have a value for every seed.
Margin marginBetween(const std::vector<double> &a, const std::vector<double> &b, double by = 0) {
  if (a.empty() || a.size() != b.size())
    return {};
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i)
    differences.push_back(a[i] - b[i] - by);
  return marginOf(differences);
}

std::string nameOf(const Operand &operand) {
  char constant[32];
  std::snprintf(constant, sizeof constant, "%g", operand.constant);
  return operand.row.empty() ? constant : operand.row + "@" + operand.column;
}

/// Pads by UTF-8 characters, not by bytes.
std::string padded(const std::string &text, size_t width, bool toTheLeft) {
  const auto count = static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
  const std::string blanks(width > count ? width - count : 0, ' ');
  return toTheLeft ? text + blanks : blanks + text;
}

/// Pads columns to their widest cell; the first is left-aligned.
std::string layOut(const std::vector<std::vector<std::string>> &rows) {
  std::vector<size_t> widths;
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string out;
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += (i ? "  " : "") + padded(row[i], widths[i], i == 0);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

/// Returns the common baseline of the rows, or an empty string if there are several.
std::string onlyBaselineOf(const ReportContent &content) {
  std::set<std::string> names;
  for (const EncodingResult &result : content.results)
    if (!result.baseline.empty())
      names.insert(result.baseline);
  return names.size() == 1 ? *names.begin() : "";
}

std::string marginsText(const ReportContent &content, const std::vector<int64_t> &lengths) {
  std::vector<std::vector<std::string>> rows = {{""}};
  for (int64_t length : lengths)
    rows[0].push_back(std::to_string(length));
  for (const EncodingResult &result : content.results) {
    if (result.baseline.empty())
      continue;
    std::vector<std::string> row = {marginLabelOf(content, result)};
    for (int64_t length : lengths) {
      const Margin margin = marginOf(content, result, length);
      row.push_back(margin.seeds > 0 ? margin.text() : "");
      if (margin.seeds > 1 && !margin.isNoise())
        row.back() += "  "; // aligns with the mark of other cells
    }
    rows.push_back(std::move(row));
  }
  return "\n" + marginCaptionOf(content) + "\n" + layOut(rows);
}

std::string claimsText(const ReportContent &content) {
  std::string out = "\n" + claimCaptionOf(content) + "\n";
  for (const Claim &claim : content.claims) {
    const Margin margin = marginOf(content, claim);
    out += "  " + padded(textOf(judge(margin)), 15, true) + claim.text;
    if (margin.seeds > 0)
      out += " (" + numbersOf(claim, margin) + ")";
    out += "\n";
  }
  return out;
}

} // namespace

const std::map<int64_t, double> &shown(Measure measure, const EncodingResult &result) {
  switch (measure) {
  case Measure::Accuracy:
    return result.accuracy;
  case Measure::ForwardTime:
    return result.milliseconds;
  case Measure::Bits:
    break;
  }
  return result.bitsPerChar;
}

std::vector<int64_t> lengthsOf(const ReportContent &content) {
  std::set<int64_t> lengths;
  for (const EncodingResult &result : content.results)
    for (auto [length, value] : shown(content.measure, result))
      lengths.insert(length);
  return {lengths.begin(), lengths.end()};
}

std::vector<std::string> moreColumnsOf(const ReportContent &content) {
  std::set<std::string> names;
  for (const EncodingResult &result : content.results)
    for (const auto &[name, values] : result.more)
      names.insert(name);
  return {names.begin(), names.end()};
}

std::string cellText(Measure measure, const EncodingResult &result, int64_t length) {
  const auto &values = shown(measure, result);
  const auto found = values.find(length);
  if (found == values.end())
    return "";
  if (result.seeds < 2)
    return fixed(found->second);
  return fixed(found->second) + " ± " + fixed(meanOf(result.bySeed.at(length)).second);
}

std::string moreText(const EncodingResult &result, const std::string &column) {
  const auto found = result.more.find(column);
  if (found == result.more.end())
    return "";
  const auto [mean, deviation] = meanOf(found->second);
  return fixed(mean) + (found->second.size() > 1 ? " ± " + fixed(deviation) : "");
}

bool hasMargins(const ReportContent &content) {
  return std::any_of(content.results.begin(), content.results.end(),
                     [](const EncodingResult &result) { return !result.baseline.empty(); });
}

Margin marginOf(const ReportContent &content, const EncodingResult &result, int64_t length) {
  if (result.baseline.empty())
    return {};
  const size_t seeds = static_cast<size_t>(result.seeds);
  const std::string column = std::to_string(length);
  return marginBetween(valuesOf(content, {result.name, column}, seeds),
                       valuesOf(content, {result.baseline, column}, seeds));
}

Margin marginOf(const ReportContent &content, const Claim &claim) {
  const size_t seeds = content.results.empty() ? 0 : static_cast<size_t>(content.results[0].seeds);
  return marginBetween(valuesOf(content, claim.higher, seeds),
                       valuesOf(content, claim.lower, seeds), claim.by);
}

std::string numbersOf(const Claim &claim, const Margin &margin) {
  Margin difference = margin;
  difference.mean += claim.by;
  std::string text = difference.text();
  // The mark refers to the difference minus the claimed one, which the verdict reports.
  if (text.ends_with(" ~"))
    text.resize(text.size() - 2);
  char by[32];
  std::snprintf(by, sizeof by, "%g", claim.by);
  return nameOf(claim.higher) + " - " + nameOf(claim.lower) + " = " + text +
         ", claimed: more than " + by;
}

std::string captionOf(Measure measure, const std::string &unit) {
  switch (measure) {
  case Measure::Accuracy:
    return "share of correct answers in the second half, by length";
  case Measure::ForwardTime:
    return "milliseconds of a forward pass over one sequence, by length";
  case Measure::Bits:
    break;
  }
  return "bits per " + unit + " of the same held-out targets, by length of context";
}

std::string marginCaptionOf(const ReportContent &content) {
  const std::string baseline = onlyBaselineOf(content);
  return (baseline.empty() ? "differences" : "difference from " + baseline) +
         (content.results[0].seeds > 1
              ? ", seed by seed: mean ± standard error; ~: within noise (95 %)"
              : "");
}

std::string claimCaptionOf(const ReportContent &content) {
  return !content.results.empty() && content.results[0].seeds == 1
             ? "claims, from one seed, so the noise is unknown"
             : "claims";
}

std::string marginLabelOf(const ReportContent &content, const EncodingResult &result) {
  return onlyBaselineOf(content).empty() ? result.name + " - " + result.baseline : result.name;
}

/// Returns the parameters as "110592 + 396": those of the model without the encoding, plus the
/// encoding's.
static std::string parametersText(const EncodingResult &result) {
  const std::string rest = std::to_string(result.modelParams - result.encodingParams);
  return result.encodingParams ? rest + " + " + std::to_string(result.encodingParams) : rest;
}

TextTable::TextTable(Measure measure, const std::string &unit, int64_t seeds,
                     const std::vector<std::string> &names, std::vector<int64_t> lengths,
                     std::vector<std::string> more)
    : measure(measure), caption(captionOf(measure, unit)), seeds(seeds),
      lengths(std::move(lengths)), more(std::move(more)) {
  const std::string value = measure == Measure::ForwardTime ? "999.999" : "9.999";
  const size_t usual = value.size() + (seeds > 1 ? std::string(" + 0.999").size() : 0);
  widths = {0};
  for (const std::string &name : names)
    widths[0] = std::max(widths[0], name.size());
  for (int64_t length : this->lengths)
    widths.push_back(std::max(usual, std::to_string(length).size()));
  for (const std::string &column : this->more)
    widths.push_back(std::max(usual, column.size()));
  widths.insert(widths.end(),
                {std::string("1105920 + 2508").size(), std::string("seconds").size()});
}

std::string TextTable::lineOf(const std::vector<std::string> &cells) const {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i)
    line += (i ? "  " : "") + padded(cells[i], widths[i], i == 0);
  return line + "\n";
}

std::string TextTable::header() const {
  std::vector<std::string> cells = {""};
  for (int64_t length : lengths)
    cells.push_back(std::to_string(length));
  cells.insert(cells.end(), more.begin(), more.end());
  cells.insert(cells.end(), {"parameters", "seconds"});
  return caption + "; " + std::to_string(seeds) +
         (seeds == 1 ? " seed\n" : " seeds, mean ± standard deviation\n") + lineOf(cells);
}

std::string TextTable::row(const EncodingResult &result) const {
  std::vector<std::string> cells = {result.name};
  for (int64_t length : lengths)
    cells.push_back(cellText(measure, result, length));
  for (const std::string &column : more)
    cells.push_back(moreText(result, column));
  cells.insert(cells.end(), {parametersText(result), fixed(result.trainSeconds, 1)});
  return lineOf(cells);
}

std::string belowTable(const ReportContent &content) {
  return (hasMargins(content) ? marginsText(content, lengthsOf(content)) : "") +
         (content.claims.empty() ? "" : claimsText(content));
}

std::string toText(const ReportContent &content) {
  std::vector<std::string> names;
  for (const EncodingResult &result : content.results)
    names.push_back(result.name);
  const int64_t seeds = content.results.empty() ? 0 : content.results[0].seeds;
  const TextTable table(content.measure, content.unit, seeds, names, lengthsOf(content),
                        moreColumnsOf(content));
  std::string out = table.header();
  for (const EncodingResult &result : content.results)
    out += table.row(result);
  return out + belowTable(content);
}

} // namespace pe::train
