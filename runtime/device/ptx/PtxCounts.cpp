//===- PtxCounts.cpp - What the lines of PTX have cost --------------------===//

#include "runtime/device/ptx/PtxState.h"

#include <algorithm>
#include <map>

using namespace pe;
using namespace pe::cuda::host;

namespace {

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

/// Returns a line without indentation and tabs.
std::string plain(std::string_view line) {
  std::string text(line.substr(std::min(line.find_first_not_of(" \t"), line.size())));
  std::ranges::replace(text, '\t', ' ');
  return text;
}

std::string joined(const std::vector<uint64_t> &numbers) {
  std::string text;
  for (const uint64_t number : numbers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

/// Returns the text of "tile:7", which is the comment "// 7: ..." below the kernels, or "".
std::string textOf(const std::vector<std::string_view> &lines, const std::string &source) {
  const size_t colon = source.rfind(':');
  const auto header = std::ranges::find(lines, "// " + source.substr(0, colon));
  if (colon == std::string::npos || header == lines.end())
    return "";
  const std::string start = "// " + source.substr(colon + 1) + ": ";
  const auto found = std::find_if(header, lines.end(),
                                  [&](std::string_view line) { return line.starts_with(start); });
  return found == lines.end() ? "" : plain(found->substr(start.size()));
}

} // namespace

extern "C" {

/// Returns a line per line of PTX that was executed since the last call: kernel or function, line,
/// executions, wavefronts of shared memory and the least number of them, sectors of global memory
/// and the least number of them, the instruction, its source as FILE:LINE and the text there (both
/// empty without line tables), separated by tabs, and last the executions of each warp of the CTAs,
/// separated by commas. Counts wavefronts and sectors from now on if `isCounting`.
const char *pePtxTakeCounts(int isCounting) {
  const Lock lock(machine().mutex);
  machine().counts.clear();
  machine().isCounting = isCounting;
  for (ModuleState *module : machine().modules) {
    const std::vector<std::string_view> lines = linesOf(module->text);
    const ptx::Module &parsed = module->loaded->module();
    std::map<std::string, std::string> texts; // by source
    for (const ptx::LineCounts &line : module->loaded->takeCounts()) {
      const ptx::Function *function = parsed.functionAt(line.line);
      machine().counts += function ? function->name : "?";
      for (const uint64_t count : {uint64_t(line.line), line.executions, line.wavefronts,
                                   line.leastWavefronts, line.sectors, line.leastSectors})
        machine().counts += "\t" + std::to_string(count);
      const std::string source = parsed.sourceOf(line.line);
      const auto at = size_t(line.line) - 1;
      const auto [text, isNew] = texts.try_emplace(source);
      if (isNew)
        text->second = textOf(lines, source);
      machine().counts += "\t" + (at < lines.size() ? plain(lines[at]) : "") + "\t" + source +
                          "\t" + text->second + "\t" + joined(line.warps) + "\n";
    }
  }
  return machine().counts.c_str();
}

} // extern "C"
