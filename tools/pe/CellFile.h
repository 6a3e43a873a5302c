//===- CellFile.h - What one run of a grid found, in a file -----------------===//
#ifndef PE_TOOLS_PE_CELLFILE_H
#define PE_TOOLS_PE_CELLFILE_H

#include "pe/Error.h"
#include "runtime/train/report/Report.h"

#include <optional>

namespace pe::cli {

/// A run's result, the hash of everything that decides it, and the build of pe that found it
/// (buildOfPe); empty: not known.
struct FinishedCell {
  train::EncodingResult result;
  std::string key, build;
};

std::string toCellText(const FinishedCell &cell);

/// What is in a finished run's file; none if it cannot be read as one.
std::optional<FinishedCell> fromCellText(const std::string &text);

/// A hash of the program and of the compiler library beside it: two builds of the same source are
/// one build if they are the same bytes.
Expected<std::string> buildOfPe();

} // namespace pe::cli

#endif // PE_TOOLS_PE_CELLFILE_H
