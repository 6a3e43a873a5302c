//===- train-embed.cpp - Train in another program -------------------------===//
//
// Trains with the flags of `pe train`, projects the weights after half of the steps, and saves the
// model:
//
//   train-embed model --encoding=examples/encodings/fire.mlir --steps=20
//
//===----------------------------------------------------------------------===//
#include "pe/train.h"

#include <cstdio>

static pe::Status train(const char *folder, const std::vector<std::string> &flags) {
  auto run = pe::train::Run::open(flags);
  if (!run)
    return run.takeError();
  while (run->steps() < run->totalSteps()) {
    if (run->steps() == run->totalSteps() / 2)
      if (auto reports = run->reinit(); !reports)
        return reports.takeError();
    auto step = run->step();
    if (!step)
      return step.takeError();
    std::printf("step %d: loss %.4f\n", static_cast<int>(run->steps()), step->loss);
  }
  auto bits = run->evaluate();
  if (!bits)
    return bits.takeError();
  for (auto [length, value] : *bits)
    std::printf("%.3f bits with %d characters of context\n", value, static_cast<int>(length));
  std::printf("the first parameter is %s\n", run->parameters()[0].name);
  return run->save(folder);
}

int main(int argc, char **argv) {
  pe::Status status = argc < 2 ? pe::makeError("expected a directory and flags of pe train")
                               : train(argv[1], {argv + 2, argv + argc});
  if (!status)
    std::fprintf(stderr, "%s\n", status.error().render("train-embed").c_str());
  return status ? 0 : 1;
}
