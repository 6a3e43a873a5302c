//===- KernelCounts.h - What the accesses of kernels cost -------*- C++ -*-===//
#ifndef PE_TOOLS_PE_KERNELCOUNTS_H
#define PE_TOOLS_PE_KERNELCOUNTS_H

#include "pe/Error.h"

#include <string>

namespace pe::cli {

/// Starts to count what the kernels of the gpu-emulator target execute. Earlier counts are dropped.
Status startCounting();

/// Ends counting and returns a table with a row per kernel, and the lines of PTX whose accesses
/// cost more than the least, those with the greatest excess first.
Expected<std::string> takeCounts();

/// Ends counting and writes the counts of every line of PTX, as pePtxTakeCounts returns them
/// (runtime/device/ptx/PtxCounts.cpp).
Status writeCounts(const std::string &file);

} // namespace pe::cli

#endif // PE_TOOLS_PE_KERNELCOUNTS_H
