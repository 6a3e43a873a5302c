//===- Generator.h - The state that generates one program -------*- C++ -*-===//
//
// The members draw from one stream of random numbers, so the order of the calls determines the
// program. Each section below is defined in the file that it names.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_GENERATOR_H
#define PE_TEST_FUZZ_GENERATOR_H

#include "fuzz/ScalarWriter.h"

namespace pe::fuzz {

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed, "program") { program.seed = seed; }
  Program generate();

private:
  // Generate.cpp: the entries.
  Program merge();
  Program embed();
  Node sink();
  void drawDropout();
  void drawPlainNormalizer();
  void drawPerHeadMask();
  void drawFactorOfRows();
  void drawRotations();

  // GenerateCall.cpp: sizes, positions and stick-breaking.
  void drawSizes();
  void drawPositions();
  void drawSticks();
  void drawPlacement();
  void drawDocuments();
  bool fits(const Node &tree) const;

  // GenerateBiases.cpp: coordinates, biases, and score functions and of weights.
  int headParameter(double low, double high);
  Node coordinate(bool isWhole = false);
  Node mlp();
  Node biasOfCoordinate();
  Node bias(int depth);
  std::optional<Node> wellConditionedBias();
  Node code(Scope scope, Op region, Op formula, double formulaShare, int depth);
  std::optional<Node> moderateCode(Scope scope, Op region, Op formula, int depth);

  // GenerateMasks.cpp.
  Node window();
  Node maskFunction();
  Node maskCode();
  Node mask(int depth);
  Node maskOfSticks();

  // GenerateVectors.cpp: rotations and content terms.
  Node rotation();
  Node nearTable(int64_t depth);
  Node waves();
  Node nearFunction();
  Node content(int64_t depth);
  void drawContents();
  Node tableWithin(int64_t rank, int64_t extent);
  int64_t drawExtent();
  Node contentOfQueries();
  std::optional<Node> factorOfQueries();
  void drawContentQueries();

  template <typename T> T pick(std::initializer_list<T> choices) {
    return choices.begin()[random.below(choices.size())];
  }
  uint64_t below(uint64_t bound) { return random.below(bound); }
  bool chance(double probability) { return random.uniform() < probability; }
  double real(double low, double high) { return static_cast<float>(random.uniform(low, high)); }

  Random random;
  Program program;
  std::optional<Node> documents;
};

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_GENERATOR_H
