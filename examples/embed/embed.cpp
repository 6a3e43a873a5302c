//===- embed.cpp - Use pe in another program ------------------------------===//
//
// Compiles an encoding, runs it forward and backward on random inputs, and prints the compiler's
// explanation and the shapes of the gradients:
//
//   embed examples/encodings/fire.mlir
//
//===----------------------------------------------------------------------===//

#include "pe/pe.h"

#include <cstdio>

static pe::Status run(const char *file) {
  auto program = pe::Program::load(file);
  if (!program)
    return program.takeError();
  auto attention = program->compile({.headDim = 64, .valueDim = 64, .grad = true});
  if (!attention)
    return attention.takeError();
  auto inputs = attention->randomInputs(/*seed=*/1, {.batch = 2, .heads = 4, .queries = 256});
  if (!inputs)
    return inputs.takeError();
  auto call = attention->forward(*inputs);
  if (!call)
    return call.takeError();
  auto gradients = attention->backward(*call, {{"d_o", call->results().at("o")}});
  if (!gradients)
    return gradients.takeError();
  std::puts(attention->explain().c_str());
  for (const auto &[name, tensor] : *gradients)
    std::printf("%s %s\n", name.c_str(), pe::toString(tensor.shape()).c_str());
  return pe::Status::success();
}

int main(int argc, char **argv) {
  pe::Status status = argc == 2 ? run(argv[1]) : pe::makeError("expected one FILE.mlir");
  if (!status)
    std::fprintf(stderr, "%s\n", status.error().render("embed").c_str());
  return status ? 0 : 1;
}
