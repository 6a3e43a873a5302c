//===- SourceKind.cpp - Damages programs and runs them --------------------===//
//
// A damaged program is parsed, compiled, and if that succeeds run with gradients on a tiny call.
// The results are not compared.
//
//===----------------------------------------------------------------------===//

#include "fuzz/FileKinds.h"
#include "fuzz/Mutations.h"
#include "pe/pe.h"

#include <algorithm>

namespace pe::fuzz {
namespace {

/// The size of the largest argument that is allocated.
constexpr int64_t kMostElements = 1 << 20;

std::string makeSource(const Corpus &corpus, uint64_t seed) {
  Random random(seed, "source");
  const std::string &good = corpus.sources[random.below(corpus.sources.size())];
  return random.below(4) ? mutateTokens(good, corpus.sources, random) : mutateBytes(good, random);
}

bool isSmall(const EntryInfo &entry) {
  auto isSmallValue = [](const ValueInfo &value) {
    double elements = 1;
    for (int64_t dim : value.dims)
      elements *= dim < 0 ? 16 : double(dim);
    return elements <= kMostElements;
  };
  return std::ranges::all_of(entry.arguments, isSmallValue) &&
         std::ranges::all_of(entry.results, isSmallValue);
}

Status runTiny(const Function &function) {
  auto inputs = function.randomInputs(1, {.batch = 1, .heads = 2, .queries = 5, .keys = 7});
  if (!inputs)
    return inputs.takeError();
  auto pool = makeThreadPool(1);
  CallOptions options{{}, pool.get()};
  auto call = function.forward(*inputs, options);
  if (!call)
    return call.takeError();
  TensorMap cotangents;
  for (const auto &[name, tensor] : call->results())
    cotangents["d_" + name] = tensor;
  auto gradients = function.backward(*call, cotangents, options);
  return gradients ? Status::success() : Status(gradients.takeError());
}

std::string readSource(const Corpus &, const std::string &bytes, const std::filesystem::path &,
                       const Progress &progress) {
  progress("parse");
  auto program = Program::parse(bytes, "damaged.mlir");
  if (!program)
    return judgeMessage(program);
  CompileOptions options{.headDim = 16, .valueDim = 16, .grad = true};
  options.lowering = bytes.size() % 2 ? "loops" : "cpu";
  progress("compile " + options.lowering);
  auto function = program->compile(options);
  if (!function)
    return judgeMessage(function);
  if (!isSmall(program->signature()))
    return "";
  progress("run " + options.lowering);
  return judgeMessage(runTiny(*function));
}

} // namespace

FileKind sourceKind() { return {"source", makeSource, readSource, /*needsCompiler=*/true}; }

} // namespace pe::fuzz
