//===- Report.h - The page about several runs -------------------*- C++ -*-===//
//
// The page of `pe demo`, `pe compare` and sweeps: one HTML file without scripts or external
// resources. It contains the table of bits per character, charts as inline SVG, a description of
// the models and the data, and the limits of the results.
//
//===----------------------------------------------------------------------===//

#ifndef PE_RUNTIME_TRAIN_REPORT_REPORT_H
#define PE_RUNTIME_TRAIN_REPORT_REPORT_H

#include "runtime/train/report/ReportContent.h"

namespace pe::train {

/// Returns the row of several runs that differ only in the seed; `runs` must not be empty.
EncodingResult meanOf(const std::vector<const EncodingResult *> &runs, Measure measure);

std::string toHtml(const ReportContent &content);

/// Returns the tables and the claims for a terminal (see Table.h to print row by row).
std::string toText(const ReportContent &content);

/// Returns results.json as defined in docs/contract.md.
std::string toJson(const ReportContent &content);

} // namespace pe::train

#endif // PE_RUNTIME_TRAIN_REPORT_REPORT_H
