//===- GpuModel.cpp - predicted cycles of GPU kernels ---===//
#include "tools/pe/GpuModel.h"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace pe::cli {
namespace {

bool startsWith(const std::string &text, std::initializer_list<const char *> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const char *prefix) { return text.starts_with(prefix); });
}

/// How many 32-bit words a lane moves: ".v4" and the like.
int64_t wordsOf(const std::string &op) {
  const int64_t vector = op.find(".v4") != std::string::npos   ? 4
                         : op.find(".v2") != std::string::npos ? 2
                                                               : 1;
  return vector * (op.find("64") != std::string::npos ? 2 : 1);
}

void count(const std::string &op, LoopCounts &counts) {
  ++counts.instructions;
  if (startsWith(op, {"mma."}))
    ++counts.matrix;
  else if (startsWith(op, {"ldmatrix"}))
    counts.shared += op.find(".x4") != std::string::npos ? 4 : 2;
  else if (startsWith(op, {"ld.shared", "st.shared"}))
    counts.shared += wordsOf(op);
  else if (startsWith(op, {"shfl"}))
    ++counts.shared;
  else if (startsWith(op, {"ld.global", "st.global", "cp.async.c", "ld.acquire", "st.release"}))
    ++counts.global;
  else if (startsWith(op, {"ex2", "lg2", "rcp", "sin", "cos", "rsqrt", "sqrt"}))
    ++counts.special;
  else if (startsWith(op, {"fma", "add.f", "add.rn", "sub.f", "sub.rn", "mul.f", "mul.rn", "neg.f",
                           "cvt", "add.ftz", "mul.ftz", "sub.ftz", "neg.ftz"}))
    ++counts.fma;
  else if (!startsWith(op, {"bra", "bar", "membar", "fence", "ret", "mov", "cp."}))
    ++counts.alu; // moves are left to the register allocator
}

/// Instructions with a single entry; successors are block indices, -1 outside the loop.
struct BasicBlock {
  std::string label;
  LoopCounts counts;
  int64_t copies = 0;
  std::vector<std::string> targets;
  bool fallsThrough = true;
};

std::vector<BasicBlock> blocksOf(const std::string &body) {
  std::vector<BasicBlock> blocks(1);
  std::istringstream lines(body);
  bool isOpen = true;
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos)
      continue;
    line = line.substr(begin);
    if (line.starts_with("$L")) {
      blocks.emplace_back().label = line.substr(0, line.find(':'));
      isOpen = true;
      continue;
    }
    const bool isConditional = line[0] == '@';
    if (isConditional)
      line = line.substr(line.find_first_of(" \t") + 1);
    if (line.empty() || !std::isalpha(static_cast<unsigned char>(line[0])))
      continue;
    if (!isOpen) {
      blocks.emplace_back();
      isOpen = true;
    }
    const std::string op = line.substr(0, line.find_first_of(" \t;"));
    BasicBlock &block = blocks.back();
    count(op, block.counts);
    block.copies += op.starts_with("cp.async.c") && op.find("commit") == std::string::npos;
    if (!op.starts_with("bra") && op != "ret;" && op != "ret")
      continue;
    if (op.starts_with("bra")) {
      const size_t at = line.find("$L");
      block.targets.push_back(line.substr(at, line.find(';') - at));
    }
    block.fallsThrough = isConditional;
    isOpen = false;
  }
  return blocks;
}

void add(LoopCounts &sum, const LoopCounts &more) {
  sum.instructions += more.instructions;
  sum.matrix += more.matrix;
  sum.fma += more.fma;
  sum.alu += more.alu;
  sum.special += more.special;
  sum.shared += more.shared;
  sum.global += more.global;
}

/// How often a block is taken to run when paths are compared: more where a loop inside the loop is
/// around it, so that a path without one is preferred.
std::vector<int64_t> runsOf(const std::vector<BasicBlock> &blocks,
                            const std::map<std::string, size_t> &places, size_t first,
                            size_t last) {
  constexpr int64_t kRuns = 32;
  std::vector<int64_t> runs(last - first + 1, 1);
  for (size_t i = first; i <= last; ++i)
    for (const std::string &target : blocks[i].targets)
      if (auto place = places.find(target);
          place != places.end() && place->second <= i && place->second > first)
        std::fill(runs.begin() + (place->second - first), runs.begin() + (i - first + 1), kRuns);
  return runs;
}

/// The best path from the loop's first block to its last; back edges are not taken.
LoopCounts hotPath(const std::vector<BasicBlock> &blocks, size_t first, size_t last) {
  std::map<std::string, size_t> places;
  for (size_t i = first; i <= last; ++i)
    if (!blocks[i].label.empty())
      places[blocks[i].label] = i;
  struct Best {
    bool isReached = false;
    int64_t work = 0, instructions = 0;
    LoopCounts counts;
  };
  const std::vector<int64_t> runs = runsOf(blocks, places, first, last);
  std::vector<Best> best(last - first + 1);
  best[0].isReached = true;
  for (size_t i = first; i <= last; ++i) {
    Best here = best[i - first];
    if (!here.isReached)
      continue;
    here.work += blocks[i].counts.matrix + blocks[i].copies;
    here.instructions += runs[i - first] * blocks[i].counts.instructions;
    add(here.counts, blocks[i].counts);
    if (i == last)
      return here.counts;
    auto reach = [&](size_t next) {
      if (next <= i || next > last)
        return;
      Best &there = best[next - first];
      const bool isBetter = here.work > there.work ||
                            (here.work == there.work && here.instructions < there.instructions);
      if (!there.isReached || isBetter)
        there = here;
    };
    for (const std::string &target : blocks[i].targets)
      if (auto found = places.find(target); found != places.end())
        reach(found->second);
    if (blocks[i].fallsThrough)
      reach(i + 1);
  }
  return {};
}

/// Calls body(name, text) for every kernel.
template <typename Body> void eachKernel(const std::string &ptx, Body body) {
  for (size_t at = 0; (at = ptx.find(".entry ", at)) != std::string::npos;) {
    at += 7;
    const size_t end = std::min(ptx.find("\n}", at), ptx.size());
    body(ptx.substr(at, ptx.find('(', at) - at), ptx.substr(at, end - at));
  }
}

} // namespace

std::map<std::string, LoopCounts> LoopCounts::ofKernels(const std::string &ptx) {
  std::map<std::string, LoopCounts> kernels;
  eachKernel(ptx, [&](const std::string &name, const std::string &text) {
    const std::vector<BasicBlock> blocks = blocksOf(text);
    std::map<std::string, size_t> places;
    for (size_t i = 0; i < blocks.size(); ++i)
      if (!blocks[i].label.empty())
        places[blocks[i].label] = i;
    // The loop whose path has the most multiplications.
    LoopCounts found;
    for (size_t i = 0; i < blocks.size(); ++i)
      for (const std::string &target : blocks[i].targets)
        if (auto place = places.find(target); place != places.end() && place->second <= i) {
          const LoopCounts path = hotPath(blocks, place->second, i);
          if (path.matrix > found.matrix)
            found = path;
        }
    if (found.matrix)
      kernels[name] = found;
  });
  return kernels;
}

std::map<std::string, int> LoopCounts::threadsOf(const std::string &ptx) {
  std::map<std::string, int> threads;
  eachKernel(ptx, [&](const std::string &name, const std::string &text) {
    const size_t at = text.find(".reqntid ");
    if (at != std::string::npos)
      threads[name] = std::atoi(text.c_str() + at + 9);
  });
  return threads;
}

double ModelledGpu::matrixPerCycle() const {
  for (const plan::MatrixOp &op : machine->matrix)
    if (op.form == plan::Form::Warp)
      return op.perCycle;
  return 0;
}

std::string modelledChips() {
  std::string names;
  for (const plan::Product &product : plan::kProducts)
    names += (names.empty() ? "" : ", ") + std::string(product.machine);
  return names;
}

Expected<ModelledGpu> findProduct(const std::string &chip) {
  for (const plan::Product &product : plan::kProducts)
    if (chip == product.machine || chip == std::string(product.machine) + "a")
      return ModelledGpu{&product, plan::findMachine(product.machine)};
  return makeError("expected a chip whose rates are known (", modelledChips(), "), found '", chip,
                   "'");
}

Prediction predict(const LoopCounts &counts, int threads, const ModelledGpu &gpu) {
  const double warps = threads / 32.0;
  const double matrix = counts.matrix * 16.0 * 8 * 16 / gpu.matrixPerCycle();
  const std::pair<const char *, double> units[] = {
      {"matrix", matrix},
      {"issue", counts.instructions / 4.0},
      {"fma", counts.fma * 32.0 / gpu.machine->floatsPerCycle},
      {"alu", counts.alu * 32.0 / gpu.machine->integersPerCycle},
      {"special", counts.special * 32.0 / gpu.machine->specialPerCycle},
      {"shared", static_cast<double>(counts.shared)},
      {"global", static_cast<double>(counts.global)}};
  Prediction result;
  for (const auto &[name, cycles] : units)
    if (cycles * warps > result.rooflineCycles) {
      result.rooflineCycles = cycles * warps;
      result.busiest = name;
    }
  // Arithmetic pipes issue in parallel; the others serialise.
  const double arithmetic = std::max({units[1].second, units[2].second, units[3].second});
  result.serialCycles =
      warps * (matrix + arithmetic + units[4].second + units[5].second + units[6].second);
  const double work = 2.0 * counts.matrix * 16 * 8 * 16 * warps;
  const double perCycle = gpu.product->cores * gpu.product->gigahertz * 1e9 * 1e-12;
  result.rooflineTeraflops = work / result.rooflineCycles * perCycle;
  result.serialTeraflops = work / result.serialCycles * perCycle;
  return result;
}

} // namespace pe::cli
