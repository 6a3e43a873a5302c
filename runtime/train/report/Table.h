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
const std::map<int64_t, double> &shown(const ReportContent &content, const EncodingResult &result);

/// Of all rows.
std::vector<int64_t> lengthsOf(const ReportContent &content);
std::vector<std::string> moreColumnsOf(const ReportContent &content);

/// "2.345", or with several seeds "2.345 ± 0.004"; empty if there is no such value.
std::string cellText(const ReportContent &content, const EncodingResult &result, int64_t length);
std::string moreText(const EncodingResult &result, const std::string &column);

/// Whether any row has a baseline.
bool hasMargins(const ReportContent &content);
/// A row less its baseline; no seeds if either lacks the length.
Margin marginOf(const ReportContent &content, const EncodingResult &result, int64_t length);
/// higher - lower - by, seed by seed; no seeds if a length was not measured.
Margin marginOf(const ReportContent &content, const Claim &claim);
/// "long@2048 - long@256 = +2.331 ± 0.004, claimed: more than 1".
std::string numbersOf(const Claim &claim, const Margin &margin);

/// What the numbers are: "bits per character of the same held-out targets, by length of context".
std::string captionOf(const ReportContent &content);
/// What the margins are.
std::string marginCaptionOf(const ReportContent &content);
/// "claims", with a warning where there is one seed.
std::string claimCaptionOf(const ReportContent &content);
/// The row's name, with its baseline's where rows have several.
std::string marginLabelOf(const ReportContent &content, const EncodingResult &result);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_TABLE_H
