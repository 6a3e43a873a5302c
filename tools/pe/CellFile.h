//===- CellFile.h - What one run of a grid found, in a file -----------------===//
#ifndef PE_TOOLS_PE_CELLFILE_H
#define PE_TOOLS_PE_CELLFILE_H

#include "runtime/train/report/Report.h"

#include <optional>

namespace pe::cli {

std::string toCellText(const train::EncodingResult &result);

/// The result in a finished run's file; none if it cannot be read as one.
std::optional<train::EncodingResult> fromCellText(const std::string &text);

} // namespace pe::cli

#endif // PE_TOOLS_PE_CELLFILE_H
