//===- PtxKind.cpp - Damages PTX and executes it --------------------------===//

#include "fuzz/FileKinds.h"
#include "fuzz/Mutations.h"
#include "runtime/ptx/LoadedModule.h"

#include <algorithm>

namespace pe::fuzz {
namespace {

std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (end == text.size())
      break;
  }
  return lines;
}

/// Removes, repeats, moves or exchanges a few lines, or damages tokens or bytes.
std::string makePtx(const Corpus &corpus, uint64_t seed) {
  Random random(seed, "ptx");
  const std::string &good = corpus.kernels[random.below(corpus.kernels.size())];
  const std::string &other = corpus.kernels[random.below(corpus.kernels.size())];
  std::vector<std::string> lines = linesOf(good);
  const std::vector<std::string> others = linesOf(other);
  for (uint64_t count = 1 + random.below(3); count > 0 && lines.size() > 2; --count) {
    const size_t at = random.below(lines.size());
    switch (random.below(6)) {
    case 0:
      lines.erase(lines.begin() + int64_t(at));
      break;
    case 1:
      lines.insert(lines.begin() + int64_t(at), lines[random.below(lines.size())]);
      break;
    case 2:
      std::swap(lines[at], lines[random.below(lines.size())]);
      break;
    case 3:
      lines[at] = others[random.below(others.size())];
      break;
    case 4:
      lines[at] = mutateBytes(lines[at], random);
      break;
    default:
      lines[at] = mutateTokens(lines[at],
                               {"%r1", "%rd2", "%p3", "b32", "f64", "u16", "v4", "[", "{"}, random);
    }
  }
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  return random.below(20) ? text : text.substr(0, random.below(text.size()));
}

/// Loads the module and runs every kernel on some memory. A fault of a kernel is a message, too.
std::string readPtx(const Corpus &, const std::string &bytes, const std::filesystem::path &,
                    const Progress &progress) {
  ptx::Memory memory;
  progress("load");
  auto loaded = ptx::LoadedModule::load(bytes, "damaged.ptx", memory);
  if (!loaded)
    return judgeMessage(loaded);
  const uint64_t data = memory.allocate(1 << 16);
  std::fill_n(reinterpret_cast<char *>(data), 1 << 16, 0);
  for (const ptx::Function &function : (*loaded)->module().functions) {
    if (!function.isEntry)
      continue;
    progress("run " + function.name);
    ptx::Launch launch;
    launch.grid.x = 3;
    launch.block.x = uint32_t(std::max(32, std::min(1024, function.requiredThreads[0])));
    launch.dynamicShared = 24 << 10;
    launch.limit = 300'000;
    for (const ptx::Variable &parameter : function.parameters) {
      std::vector<std::byte> value(parameter.bytes);
      const uint64_t number = parameter.bytes == 8 ? data : 40;
      std::memcpy(value.data(), &number, std::min<size_t>(value.size(), sizeof(number)));
      launch.parameters.push_back(std::move(value));
    }
    if (std::string problem = judgeMessage((*loaded)->run(function.name, launch)); !problem.empty())
      return problem;
  }
  return "";
}

} // namespace

FileKind ptxKind() { return {"ptx", makePtx, readPtx}; }

} // namespace pe::fuzz
