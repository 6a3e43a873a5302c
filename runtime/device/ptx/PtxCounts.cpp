//===- PtxCounts.cpp - What the lines of PTX have cost --------------------===//

#include "runtime/device/ptx/PtxState.h"

#include <algorithm>

using namespace pe;
using namespace pe::cuda::host;

extern "C" {

/// Returns a line per line of PTX that was executed since the last call: kernel or function, line,
/// executions, wavefronts of shared memory and the least number of them, sectors of global memory
/// and the least number of them, and the instruction, separated by tabs. Counts wavefronts and
/// sectors from now on if `isCounting`.
const char *pePtxTakeCounts(int isCounting) {
  const Lock lock(machine().mutex);
  machine().counts.clear();
  machine().isCounting = isCounting;
  for (ModuleState *module : machine().modules) {
    std::vector<std::string_view> lines;
    for (std::string_view rest = module->text; !rest.empty();) {
      lines.push_back(rest.substr(0, rest.find('\n')));
      rest.remove_prefix(std::min(lines.back().size() + 1, rest.size()));
    }
    for (const ptx::LineCounts &line : module->loaded->takeCounts()) {
      const ptx::Function *function = nullptr; // the last one that begins before the line
      for (const ptx::Function &other : module->loaded->module().functions)
        if (other.line <= line.line && (!function || other.line > function->line))
          function = &other;
      machine().counts += function ? function->name : "?";
      for (const uint64_t count : {uint64_t(line.line), line.executions, line.wavefronts,
                                   line.leastWavefronts, line.sectors, line.leastSectors})
        machine().counts += "\t" + std::to_string(count);
      std::string source(size_t(line.line) <= lines.size() ? lines[size_t(line.line) - 1] : "");
      source.erase(0, source.find_first_not_of(" \t"));
      std::ranges::replace(source, '\t', ' ');
      machine().counts += "\t" + source + "\n";
    }
  }
  return machine().counts.c_str();
}

} // extern "C"
