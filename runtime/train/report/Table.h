//===- Table.h - What the tables of a report say -----------------*- C++ -*-===//
//
// The texts of cells, margins and claims, for the page and for a terminal.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REPORT_TABLE_H
#define PE_RUNTIME_TRAIN_REPORT_TABLE_H

#include "runtime/train/report/Report.h"

namespace pe::train {

/// The means that the table shows, by length.
const std::map<int64_t, double> &shown(Measure measure, const EncodingResult &result);

/// Of all rows.
std::vector<int64_t> lengthsOf(const ReportContent &content);
std::vector<std::string> moreColumnsOf(const ReportContent &content);

/// "2.345", or with several seeds "2.345 ± 0.004"; empty if there is no such value.
std::string cellText(Measure measure, const EncodingResult &result, int64_t length);
std::string moreText(const EncodingResult &result, const std::string &column);

/// Whether any row has a baseline.
bool hasMargins(const ReportContent &content);
/// A row less its baseline; no seeds if either lacks the length.
Margin marginOf(const ReportContent &content, const EncodingResult &result, int64_t length);
/// higher - lower - by, seed by seed; no seeds if a length was not measured.
Margin marginOf(const ReportContent &content, const Claim &claim);
/// "long@2048 - long@256 = +2.331 ± 0.004, claimed: more than 1".
std::string numbersOf(const Claim &claim, const Margin &margin);

/// A table for a terminal, a row at a time: its columns are as wide as what they usually hold.
class TextTable {
public:
  /// Everything that is known before the first row: the names of the rows, the lengths and the
  /// further columns in their order.
  TextTable(Measure measure, const std::string &unit, int64_t seeds,
            const std::vector<std::string> &names, std::vector<int64_t> lengths,
            std::vector<std::string> more);

  /// What the numbers are, and the names of the columns: two lines.
  std::string header() const;
  std::string row(const EncodingResult &result) const;

private:
  std::string lineOf(const std::vector<std::string> &cells) const;

  Measure measure;
  std::string caption;
  int64_t seeds;
  std::vector<int64_t> lengths;
  std::vector<std::string> more;
  std::vector<size_t> widths;
};

/// What stands below the table: margins and claims; empty without any.
std::string belowTable(const ReportContent &content);

/// What the numbers are: "bits per character of the same held-out targets, by length of context".
std::string captionOf(Measure measure, const std::string &unit);
/// What the margins are.
std::string marginCaptionOf(const ReportContent &content);
/// "claims", with a warning where there is one seed.
std::string claimCaptionOf(const ReportContent &content);
/// The row's name, with its baseline's where rows have several.
std::string marginLabelOf(const ReportContent &content, const EncodingResult &result);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_TABLE_H
