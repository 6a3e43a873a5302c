//===- BiasEvaluator.h - A bias of one pair, in long double -----*- C++ -*-===//
//
// Walks the generator's tree. Noise, if asked for, multiplies every rounded f32 result by 1 + u
// with |u| at most half a unit in the last place (2 units where an approximation is allowed); the
// same seed gives the same noise.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_BIASEVALUATOR_H
#define PE_TEST_FUZZ_BIASEVALUATOR_H

#include "fuzz/EvaluateProgram.h"

#include <map>

namespace pe::fuzz {

struct Pair {
  int64_t b = 0, h = 0, i = 0, j = 0;
  /// Of functions of the score: the scaled one.
  long double score = 0;
  /// Where the tokens lie, which is not at i and j if positions are data.
  int64_t row = i, column = j;
  /// Of vectors: the element.
  int64_t dim = 0;
};

/// The pair of query row r and key column c.
Pair pairAt(const Program &program, const ParameterValues &values, int64_t b, int64_t h, int64_t r,
            int64_t c);

class BiasEvaluator {
public:
  /// Without noise when `noiseSeed` is 0. Keeps references to both.
  BiasEvaluator(const Program &program, const ParameterValues &values, uint64_t noiseSeed = 0)
      : program(program), values(values), noiseSeed(noiseSeed) {}

  /// Of a node of type Bias, or a function of the score.
  long double evaluate(const Node &bias, const Pair &at);
  bool allows(const Node &mask, const Pair &at);
  /// Whether every operation so far was defined.
  bool isDefined() const { return defined; }

private:
  struct Value {
    int64_t integer = 0;
    long double real = 0;
  };

  Value scalar(const Node &node);
  Value read(const Node &node);
  Value index(const Node &node) const;
  Value sum(const Node &node);
  Value scalarRow(const Node &node, const Value *in);
  Value convert(const Node &node, const Value &in);
  long double coordinate(const Node &node);
  long double bias(const Node &node);
  long double mlp(const Node &node, long double x);
  long double cosineSum(const Node &node, long double x);
  long double bucket(const Node &node) const;
  long double slopeOfRule(int rule) const;
  long double logOfScaled(long double c, long double x);

  /// A parameter of rank 0 or 1 at this pair's head; `absent` if there is none.
  long double atHead(int parameter, long double absent = 0) const;
  /// Element [row, column] with both clamped.
  long double element(int parameter, int64_t row, int64_t column) const;
  int64_t extent(int parameter, size_t axis) const;
  /// The element of an axis that an index of a region refers to.
  int64_t placeOn(int64_t dim, int64_t index) const;

  /// With noise unless f32 holds x exactly and the operation is correctly rounded.
  long double rounded(long double x, bool isApproximate = false);

  const Program &program;
  const ParameterValues &values;
  uint64_t noiseSeed, noiseCount = 0;
  Pair pair;
  bool usesPlaces = false;               ///< inside an index of an axis of tokens
  std::map<int64_t, int64_t> sumIndices; ///< by name, of the sums around
  bool defined = true;
};

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_BIASEVALUATOR_H
