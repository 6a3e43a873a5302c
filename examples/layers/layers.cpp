//===- layers.cpp - Share tables between layers ---------------------------===//
//
// Four layers of attention share one encoding: its tables are built once and read by the calls of
// all layers, and the gradients of its parameters are summed.
//
//   layers examples/encodings/fire.mlir
//
//===----------------------------------------------------------------------===//

#include "pe/pe.h"

#include <cstdio>
#include <vector>

/// Returns true if the argument is the queries, keys or values of the tokens.
static bool isActivation(const std::string &name) {
  return name == "q" || name == "k" || name == "v";
}

static pe::Status run(const char *file) {
  auto program = pe::Program::load(file);
  if (!program)
    return program.takeError();
  auto attention = program->compile({.headDim = 64, .valueDim = 64, .grad = true});
  if (!attention)
    return attention.takeError();
  // Every layer has its own queries, keys and values; all layers share the parameters.
  std::vector<pe::TensorMap> layers;
  for (uint64_t seed : {1, 2, 3, 4}) {
    auto inputs = attention->randomInputs(seed, {.batch = 1, .heads = 4, .queries = 200});
    if (!inputs)
      return inputs.takeError();
    for (auto &[name, tensor] : *inputs)
      if (!layers.empty() && !isActivation(name))
        tensor = layers[0].at(name);
    layers.push_back(*inputs);
  }

  auto tables = attention->prepare(layers[0]);
  if (!tables)
    return tables.takeError();
  pe::TensorMap sums;
  for (const pe::TensorMap &layer : layers) {
    auto call = attention->forward(layer, {.prepared = &*tables});
    if (!call)
      return call.takeError();
    auto gradients = attention->backward(*call, {{"d_o", call->results().at("o")}});
    if (!gradients)
      return gradients.takeError();
    for (const auto &[name, gradient] : *gradients) {
      if (isActivation(name.substr(2)))
        continue;
      auto [sum, isFirst] = sums.try_emplace(name, gradient);
      for (int64_t i = 0; i < gradient.numel() && !isFirst; ++i)
        sum->second.data<float>()[i] += gradient.data<float>()[i];
    }
  }
  for (const auto &[name, sum] : sums)
    std::printf("%s %s of %zu layers\n", name.c_str(), pe::toString(sum.shape()).c_str(),
                layers.size());
  return pe::Status::success();
}

int main(int argc, char **argv) {
  pe::Status status = argc == 2 ? run(argv[1]) : pe::makeError("expected one FILE.mlir");
  if (!status)
    std::fprintf(stderr, "%s\n", status.error().render("layers").c_str());
  return status ? 0 : 1;
}
