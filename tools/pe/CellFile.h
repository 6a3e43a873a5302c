//===- CellFile.h - The result file of a run of a grid ----------------------===//
#ifndef PE_TOOLS_PE_CELLFILE_H
#define PE_TOOLS_PE_CELLFILE_H

#include "pe/Error.h"
#include "runtime/train/report/Report.h"

#include <optional>

namespace pe::cli {

/// The result of a run, the hash of everything that determines it, and the build of pe that
/// computed it (buildOfPe; empty if unknown).
struct FinishedCell {
  train::EncodingResult result;
  std::string key, build;
};

std::string toCellText(const FinishedCell &cell);

/// Parses the file of a finished run; nullopt if it is not valid.
std::optional<FinishedCell> fromCellText(const std::string &text);

/// Returns a hash of the program and the compiler library. Two builds of the same source are the
/// same build if they are identical bytes.
Expected<std::string> buildOfPe();

} // namespace pe::cli

#endif // PE_TOOLS_PE_CELLFILE_H
