//===- PtxOptions.h - Options of pe ptx -------------------------*- C++ -*-===//
#ifndef PE_TOOLS_PE_PTXOPTIONS_H
#define PE_TOOLS_PE_PTXOPTIONS_H

#include "runtime/core/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pe::cli {

/// The options of `pe ptx`; an empty string or list is an option that was not given.
struct PtxOptions {
  std::string action, file, kernel, arguments, in, out, order = "random";
  std::vector<uint32_t> grid, block;
  uint32_t shared = 0, ctas = 16;
  uint64_t seed = 1, limit = 0;
  bool counts = false;
};

} // namespace pe::cli

/// Executes `pe ptx` and sets `status`. The entry point of libpe-ptx-command.so.
extern "C" __attribute__((visibility("default"))) void
pe_ptx_command(const pe::cli::PtxOptions &options, pe::Status &status);

#endif // PE_TOOLS_PE_PTXOPTIONS_H
