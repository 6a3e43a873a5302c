//===- KernelCounts.cpp - What the accesses of kernels cost ---------------===//

#include "tools/pe/KernelCounts.h"

#include "runtime/core/Error.h"
#include "runtime/device/cuda/Driver.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <map>
#include <vector>

namespace pe::cli {
namespace {

/// A line of PTX, or the sums of a kernel or of a tile op.
struct Counts {
  uint64_t line = 0, executions = 0, wavefronts = 0, leastWavefronts = 0, sectors = 0,
           leastSectors = 0;
  // Of sums: executions of barriers, of loads that wait for a turn, and of stores that pass one on.
  uint64_t barriers = 0, polls = 0, turns = 0;
  std::string kernel, instruction;
  std::string source, op; // "tile:12" and the text there; empty without line tables

  void add(const Counts &other);
  uint64_t excess() const { return wavefronts - leastWavefronts + sectors - leastSectors; }
};

/// Adds a line to a sum.
void Counts::add(const Counts &line) {
  executions += line.executions;
  wavefronts += line.wavefronts, leastWavefronts += line.leastWavefronts;
  const auto has = [&](const char *opcode) {
    return line.instruction.find(opcode) != std::string::npos;
  };
  barriers += has("bar.sync") || has("bar.red") || has("barrier.") ? line.executions : 0;
  if (has("ld.acquire")) // how often depends on the schedule
    polls += line.executions;
  else
    sectors += line.sectors, leastSectors += line.leastSectors;
  turns += has("st.release") ? line.executions : 0;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end; (end = text.find(separator)) != std::string_view::npos;) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

std::vector<Counts> parse(std::string_view text) {
  std::vector<Counts> result;
  for (const std::string_view row : split(text, '\n')) {
    const std::vector<std::string_view> fields = split(row, '\t');
    if (fields.size() < 10)
      continue;
    Counts counts;
    uint64_t *const numbers[] = {&counts.line,       &counts.executions,
                                 &counts.wavefronts, &counts.leastWavefronts,
                                 &counts.sectors,    &counts.leastSectors};
    for (size_t i = 0; i < std::size(numbers); ++i)
      std::from_chars(fields[i + 1].data(), fields[i + 1].data() + fields[i + 1].size(),
                      *numbers[i]);
    counts.kernel = fields[0], counts.instruction = fields[7];
    counts.source = fields[8], counts.op = fields[9];
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
    kernels.back().add(line);
  }
  return kernels;
}

/// Sums the lines by tile op and kernel, in the order of the PTX and of the tile program.
std::vector<Counts> sumByOp(const std::vector<Counts> &lines) {
  std::vector<Counts> ops;
  for (const Counts &kernel : sumByKernel(lines)) {
    std::map<std::string, Counts> sums;
    for (const Counts &line : lines) {
      if (line.kernel != kernel.kernel || line.op.empty())
        continue;
      Counts &sum = sums[line.source];
      sum.kernel = line.kernel, sum.source = line.source, sum.op = line.op;
      sum.line = std::strtoull(line.source.c_str() + line.source.rfind(':') + 1, nullptr, 10);
      sum.add(line);
    }
    const size_t first = ops.size();
    for (auto &[source, sum] : sums)
      ops.push_back(std::move(sum));
    std::ranges::sort(ops.begin() + int64_t(first), ops.end(), {}, &Counts::line);
  }
  return ops;
}

std::string pad(const std::string &text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// Returns the numbers of a sum under the heading of the tables.
std::string rowOf(const Counts &sum) {
  std::string row;
  const std::pair<uint64_t, size_t> columns[] = {
      {sum.executions, 11}, {sum.wavefronts, 12},   {sum.leastWavefronts, 11},
      {sum.sectors, 12},    {sum.leastSectors, 12}, {sum.barriers, 10},
      {sum.turns, 8},       {sum.polls, 8}};
  for (const auto &[number, width] : columns)
    row += pad(std::to_string(number), width);
  return row;
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

Status writeCounts(const std::string &file) {
  auto driver = cuda::Driver::openEmulator();
  if (!driver)
    return driver.error();
  std::ofstream stream(file);
  stream << (*driver)->takeCounts(/*isCounting=*/0);
  stream.close();
  if (!stream)
    return systemError(file, "cannot write");
  return Status::success();
}

Expected<std::string> takeCounts() {
  auto driver = cuda::Driver::openEmulator();
  if (!driver)
    return driver.error();
  std::vector<Counts> lines = parse((*driver)->takeCounts(/*isCounting=*/0));
  std::string text = "warp instr.  wavefronts      least     sectors       least  barriers   turns"
                     "   polls  kernel\n";
  for (const Counts &kernel : sumByKernel(lines))
    text += rowOf(kernel) + "  " + kernel.kernel + "\n";
  if (const std::vector<Counts> ops = sumByOp(lines); !ops.empty()) {
    text += "tile ops of the kernels, without those of less than 1 % of the instructions\n";
    uint64_t all = 0;
    for (const Counts &op : ops)
      all += op.executions;
    for (const Counts &op : ops)
      if (op.executions * 100 >= all)
        text += rowOf(op) + "  " + op.kernel + " " + op.source + "  " +
                op.op.substr(0, std::min(op.op.find(" : "), size_t(70))) + "\n";
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
            std::to_string(line.line) + "  " + line.instruction.substr(0, 60) + "\n";
  return text;
}

} // namespace pe::cli
