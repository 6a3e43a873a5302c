//===- KernelCounts.cpp - What the accesses of kernels cost ---------------===//

#include "tools/pe/KernelCounts.h"

#include "runtime/device/cuda/Driver.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <vector>

namespace pe::cli {
namespace {

/// A line of PTX, or the sums of a kernel.
struct Counts {
  uint64_t line = 0, executions = 0, wavefronts = 0, leastWavefronts = 0, sectors = 0,
           leastSectors = 0;
  // Of kernels: executions of barriers, of loads that wait for a turn, and of stores that pass one
  // on.
  uint64_t barriers = 0, polls = 0, turns = 0;
  std::string kernel, source;

  uint64_t excess() const { return wavefronts - leastWavefronts + sectors - leastSectors; }
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    parts.push_back(text.substr(0, text.find(separator)));
    text.remove_prefix(std::min(parts.back().size() + 1, text.size()));
  }
  return parts;
}

std::vector<Counts> parse(std::string_view text) {
  std::vector<Counts> result;
  for (const std::string_view row : split(text, '\n')) {
    const std::vector<std::string_view> fields = split(row, '\t');
    if (fields.size() < 8)
      continue;
    Counts counts;
    uint64_t *const numbers[] = {&counts.line,       &counts.executions,
                                 &counts.wavefronts, &counts.leastWavefronts,
                                 &counts.sectors,    &counts.leastSectors};
    for (size_t i = 0; i < std::size(numbers); ++i)
      std::from_chars(fields[i + 1].data(), fields[i + 1].data() + fields[i + 1].size(),
                      *numbers[i]);
    counts.kernel = fields[0], counts.source = fields[7];
    result.push_back(std::move(counts));
  }
  return result;
}

/// Sums the lines by kernel, in the order of the PTX.
std::vector<Counts> sumByKernel(const std::vector<Counts> &lines) {
  std::vector<Counts> kernels;
  for (const Counts &line : lines) {
    if (kernels.empty() || kernels.back().kernel != line.kernel)
      kernels.emplace_back().kernel = line.kernel;
    Counts &sum = kernels.back();
    sum.executions += line.executions;
    sum.wavefronts += line.wavefronts, sum.leastWavefronts += line.leastWavefronts;
    const auto has = [&](const char *opcode) {
      return line.source.find(opcode) != std::string::npos;
    };
    sum.barriers += has("bar.sync") || has("barrier.") ? line.executions : 0;
    if (has("ld.acquire")) // how often depends on the schedule
      sum.polls += line.executions;
    else
      sum.sectors += line.sectors, sum.leastSectors += line.leastSectors;
    sum.turns += has("st.release") ? line.executions : 0;
  }
  return kernels;
}

std::string pad(const std::string &text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

} // namespace

Status startCounting() {
  auto driver = cuda::Driver::openEmulator();
  if (!driver)
    return driver.error();
  if (!(*driver)->takeCounts)
    return makeError("this emulator of GPUs does not count; rebuild pe-ptx-cuda");
  (*driver)->takeCounts(/*isCounting=*/1);
  return Status::success();
}

Expected<std::string> takeCounts() {
  auto driver = cuda::Driver::openEmulator();
  if (!driver)
    return driver.error();
  std::vector<Counts> lines = parse((*driver)->takeCounts(/*isCounting=*/0));
  std::string text = "warp instr.  wavefronts      least     sectors       least  barriers   turns"
                     "   polls  kernel\n";
  for (const Counts &kernel : sumByKernel(lines)) {
    const std::pair<uint64_t, size_t> columns[] = {
        {kernel.executions, 11}, {kernel.wavefronts, 12},   {kernel.leastWavefronts, 11},
        {kernel.sectors, 12},    {kernel.leastSectors, 12}, {kernel.barriers, 10},
        {kernel.turns, 8},       {kernel.polls, 8}};
    for (const auto &[number, width] : columns)
      text += pad(std::to_string(number), width);
    text += "  " + kernel.kernel + "\n";
  }
  std::erase_if(lines, [](const Counts &line) { return line.excess() == 0; });
  std::ranges::stable_sort(lines, std::greater(), &Counts::excess);
  constexpr size_t kMost = 12;
  if (!lines.empty())
    text += "lines with more wavefronts or sectors than the least\n";
  for (const Counts &line :
       std::vector<Counts>(lines.begin(), lines.begin() + int64_t(std::min(kMost, lines.size()))))
    text += pad(std::to_string(line.executions), 11) + pad(std::to_string(line.wavefronts), 12) +
            pad(std::to_string(line.leastWavefronts), 11) + pad(std::to_string(line.sectors), 12) +
            pad(std::to_string(line.leastSectors), 12) + "  " + line.kernel + ":" +
            std::to_string(line.line) + "  " + line.source.substr(0, 60) + "\n";
  return text;
}

} // namespace pe::cli
