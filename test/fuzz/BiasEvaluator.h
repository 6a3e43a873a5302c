//===- BiasEvaluator.h - Evaluates a bias at one pair -----------*- C++ -*-===//
//
// Evaluates the generator's tree in long double. Optional noise multiplies every rounded f32 result
// by 1 + u, where |u| is at most half a unit in the last place (2 units for approximate
// operations). The noise is a function of its seed.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_BIASEVALUATOR_H
#define PE_TEST_FUZZ_BIASEVALUATOR_H

#include "fuzz/EvaluateProgram.h"

#include <map>

namespace pe::fuzz {

struct Pair {
  int64_t b = 0, h = 0, i = 0, j = 0;
  /// The scaled score, for score functions.
  long double score = 0;
  /// The indices of the tokens, which differ from i and j if positions are data.
  int64_t row = i, column = j;
  /// The index of the element, for vectors.
  int64_t dim = 0;
};

/// Returns the pair of query row r and key column c.
Pair pairAt(const Program &program, const ParameterValues &values, int64_t b, int64_t h, int64_t r,
            int64_t c);

class BiasEvaluator {
public:
  /// Evaluates without noise if `noiseSeed` is 0. Both arguments must outlive the evaluator.
  BiasEvaluator(const Program &program, const ParameterValues &values, uint64_t noiseSeed = 0)
      : program(program), values(values), noiseSeed(noiseSeed) {}

  /// Evaluates a bias or a score function.
  long double evaluate(const Node &bias, const Pair &at);
  bool allows(const Node &mask, const Pair &at);
  /// Returns true if every operation so far was defined.
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
  long double content(const Node &node);
  long double mlp(const Node &node, long double x);
  long double cosineSum(const Node &node, long double x);
  long double bucket(const Node &node) const;
  long double slopeOfRule(int rule) const;
  long double logOfScaled(long double c, long double x);

  /// Returns the element of this pair's head of a parameter of rank 0 or 1, or `absent` if there is
  /// no parameter.
  long double atHead(int parameter, long double absent = 0) const;
  /// Returns element [row, column]; both indices are clamped.
  long double element(int parameter, int64_t row, int64_t column) const;
  int64_t extent(int parameter, size_t axis) const;
  /// Returns the element of axis `dim` for an index of a region: subtracts the axis's start and
  /// clamps.
  int64_t placeOn(int64_t dim, int64_t index) const;

  /// Adds noise unless f32 represents x exactly and the operation is correctly rounded.
  long double rounded(long double x, bool isApproximate = false);

  const Program &program;
  const ParameterValues &values;
  uint64_t noiseSeed, noiseCount = 0;
  Pair pair;
  bool usesPlaces = false;               ///< inside the index of an axis of tokens
  std::map<int64_t, int64_t> sumIndices; ///< of the enclosing sums, by name
  bool defined = true;
};

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_BIASEVALUATOR_H
