//===- DenseAttention.h - attention by its formulas, in double ------------===//
//
// What the tile algorithms are compared with: whole matrices, obvious loops, no blocks. Shares
// nothing with the compiler.
//
//===----------------------------------------------------------------------===//
#ifndef PE_TEST_PASSES_TOLOOPS_DENSEATTENTION_H
#define PE_TEST_PASSES_TOLOOPS_DENSEATTENTION_H

#include "runtime/plan/Plan.h"

#include <functional>
#include <vector>

namespace pe::test {

struct DenseAttention {
  plan::CallSizes sizes;
  int64_t headDim, valueDim;
  double scale;
  std::vector<float> q, k, v, dO;
  /// Of global positions i, j.
  std::function<bool(int64_t i, int64_t j)> inMask;
  /// Of local indices: row and column of the call.
  std::function<double(int64_t b, int64_t h, int64_t row, int64_t column)> bias =
      [](int64_t, int64_t, int64_t, int64_t) { return 0.0; };

  /// Results. `lse` in natural units; `dS` is the gradient at the biased, unscaled score
  /// [b, hq, r, c].
  std::vector<double> o, lse, dq, dk, dv, dS;

  void runSoftmax();
  void runStickBreaking();

  /// Fills the inputs with normal numbers.
  void draw(unsigned seed);
  bool attends(int64_t row, int64_t column) const;
  int64_t pair(int64_t b, int64_t h, int64_t row, int64_t column) const;

private:
  struct Head {
    int64_t b, h, keyHead;
  };
  void forEachHead(const std::function<void(const Head &)> &body);
  void clear();
  double score(const Head &head, int64_t row, int64_t column) const;
  double dotWithCotangent(const Head &head, int64_t row, int64_t column) const;
  /// Adds one weight to the output, and one score gradient and weight to the gradients.
  void addOutput(const Head &head, int64_t row, int64_t column, double weight);
  void addGradients(const Head &head, int64_t row, int64_t column, double weight, double dScore);
  int64_t queryRow(const Head &head, int64_t row) const;
  int64_t keyRow(const Head &head, int64_t column) const;
};

} // namespace pe::test

#endif // PE_TEST_PASSES_TOLOOPS_DENSEATTENTION_H
