//===- Table.h - Text of the tables of a report -----------------*- C++ -*-===//
//
// Formats cells, margins and claims for the page and for a terminal.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REPORT_TABLE_H
#define PE_RUNTIME_TRAIN_REPORT_TABLE_H

#include "runtime/train/report/ReportContent.h"

namespace pe::train {

/// Returns the means that the table shows, by length.
const std::map<int64_t, double> &shown(Measure measure, const EncodingResult &result);

/// Return the lengths and the additional columns of all rows.
std::vector<int64_t> lengthsOf(const ReportContent &content);
std::vector<std::string> moreColumnsOf(const ReportContent &content);

/// Returns "2.345", or "2.345 ± 0.004" for several seeds, or an empty string if there is no value.
std::string cellText(Measure measure, const EncodingResult &result, int64_t length);
std::string moreText(const EncodingResult &result, const std::string &column);

/// Returns true if any row has a baseline.
bool hasMargins(const ReportContent &content);
/// Returns the difference of a row and its baseline. It has no seeds if either lacks the length.
Margin marginOf(const ReportContent &content, const EncodingResult &result, int64_t length);
/// Returns higher - lower - by, seed by seed. It has no seeds if a length was not measured.
Margin marginOf(const ReportContent &content, const Claim &claim);
/// Returns "long@2048 - long@256 = +2.331 ± 0.004, claimed: more than 1".
std::string numbersOf(const Claim &claim, const Margin &margin);

/// A table for a terminal that is printed row by row. Column widths fit the typical content.
class TextTable {
public:
  /// Takes everything that is known before the first row: the names of the rows, the lengths and
  /// the additional columns in their order.
  TextTable(Measure measure, const std::string &unit, int64_t seeds,
            const std::vector<std::string> &names, std::vector<int64_t> lengths,
            std::vector<std::string> more);

  /// Returns two lines: the caption, and the names of the columns.
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

/// Returns the text below the table, margins and claims; empty if there are none.
std::string belowTable(const ReportContent &content);

/// Returns the caption: "bits per character of the same held-out targets, by length of context".
std::string captionOf(Measure measure, const std::string &unit);
/// Returns the caption of the margins.
std::string marginCaptionOf(const ReportContent &content);
/// Returns "claims", with a warning if there is only one seed.
std::string claimCaptionOf(const ReportContent &content);
/// Returns the name of the row, followed by that of its baseline if the table has several
/// baselines.
std::string marginLabelOf(const ReportContent &content, const EncodingResult &result);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_TABLE_H
