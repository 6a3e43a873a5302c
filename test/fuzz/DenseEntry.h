//===- DenseEntry.h - Dense evaluation of a program -------------*- C++ -*-===//
//
// Evaluates a program in long double, pair by pair. Shares no code with runtime/reference.
//
//===----------------------------------------------------------------------===//

#ifndef PE_TEST_FUZZ_DENSEENTRY_H
#define PE_TEST_FUZZ_DENSEENTRY_H

#include "fuzz/BiasEvaluator.h"

#include <map>
#include <optional>

namespace pe::fuzz {

/// Elements of tensors by name, row-major.
using Arrays = std::map<std::string, std::vector<long double>>;

class DenseEntry {
public:
  explicit DenseEntry(const Program &program);

  /// Returns the sum of the biases at every pair, with the parameters in `inputs`.
  std::vector<long double> biasOf(const Arrays &inputs) const;
  /// Returns the results. Attention always has "lse", even if the program does not return it.
  Arrays forward(const Arrays &inputs, const std::vector<long double> &bias) const;

private:
  using Real = long double;
  /// A row of scores; masked pairs have no value.
  using Row = std::vector<std::optional<Real>>;

  ParameterValues valuesOf(const Arrays &inputs) const;
  Arrays attend(const Arrays &inputs, const std::vector<Real> &bias) const;
  Arrays merge(const Arrays &inputs) const;
  Arrays embed(const Arrays &inputs) const;
  std::vector<Real> shifted(const std::vector<Real> &rows, const Node &shift,
                            const ParameterValues &values) const;
  /// Rotates rows of `depth` elements, of queries or of keys, forwards (1) or backwards (-1).
  std::vector<Real> rotate(const std::vector<Real> &rows, bool areQueries,
                           const ParameterValues &values, const std::optional<Node> &rotation,
                           int64_t depth, int direction = 1) const;
  std::pair<Real, Real> coefficients(const Node &rotation, const Pair &pair, bool isQuery,
                                     int64_t p, int64_t dims, const ParameterValues &values) const;
  /// Returns the queries of a content term: its own, or the attention's, shifted and projected.
  std::vector<Real> contentRows(const std::vector<Real> &queries, const Node &content,
                                const ParameterValues &values) const;
  /// Computes the weights of a row and returns its second result.
  void weigh(const Row &row, std::vector<Real> &weights) const;
  Real normalize(const Row &row, std::optional<Real> sink, std::vector<Real> &weights) const;
  Real breakSticks(const Row &row, int64_t own, std::vector<Real> &weights,
                   std::vector<Real> &kept) const;
  /// Returns the factor by which dropout multiplies a probability.
  Real drawOf(const Arrays &inputs, const Pair &pair) const;

  const Program &program;
  const Sizes &sizes;
  Real scale;
};

} // namespace pe::fuzz

#endif // PE_TEST_FUZZ_DENSEENTRY_H
