//===- IndexRange.h - compile-time ranges of indices ------------*- C++ -*-===//
//
// Computes, for the numeric values of a region, the variables that they depend on and their bounds
// over the pairs that a mask keeps. Unlike ScalarRange.h, which emits code that is evaluated for a
// block of pairs, the result is known before any call.
//
// Worked example. Under a causal mask, where 0 <= i - j, the index of
//
//   table[clamp(j - i, -16, 16) + 16, h]
//
// depends on i and j and is in [0, 16]; j - i is in [-2^31, 0].
//
// Numbers are doubles: positions have 30 bits, so integers in code of a reasonable size are exact.
// Operations without a rule have no bounds.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_ANALYSIS_INDEXRANGE_H
#define PE_PASSES_ANALYSIS_INDEXRANGE_H

#include "dialect/PE/PE.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>
#include <optional>

namespace mlir::pe {

/// The closed interval from `least` to `most`.
struct Interval {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();

  bool isConstant() const { return least == most; }
};

/// The leading arguments of regions of scalar code, as bits. A position of pe.embedding_fn counts
/// as a query position.
enum RegionVariable : unsigned {
  kNoVariable = 0,
  kBatch = 1,
  kHead = 2,
  kQuery = 4,
  kKey = 8,
  kDim = 16
};

/// Returns the meaning of the leading arguments of the region of `op` (pe.bias_fn, pe.term of
/// class general, pe.score_fn, pe.mask_fn, pe.factor_fn, pe.sink_fn, pe.content_fn,
/// pe.embedding_fn); empty for other ops.
SmallVector<RegionVariable> leadingVariablesOf(Operation *op);

/// query * i + key * j + constant.
struct PairForm {
  double query = 0, key = 0, constant = 0;

  bool isConstant() const { return query == 0 && key == 0; }
  bool isDifference() const { return query != 0 && query == -key; }
};

/// The variables that a value depends on, directly and through the indices of tensor reads.
struct IndexSources {
  unsigned code = 0, data = 0;
  std::optional<PairForm> form;
};

/// The ranges of the numeric values of one region, including code inside sums.
class IndexRanges {
public:
  explicit IndexRanges(Operation *op);

  const IndexSources &sourcesOf(Value value);
  /// Returns the bounds of `value` at pairs with a difference i - j in `range`.
  Interval intervalOf(Value value, DifferenceRange range);
  /// Returns the differences in `range` for which `condition` can be `isTrue`.
  DifferenceRange refine(Value condition, bool isTrue, DifferenceRange range);
  /// Returns the value that an argument of a sum is bound to; any other value is returned
  /// unchanged.
  static Value outsideOfSums(Value value);

private:
  std::optional<PairForm> formOf(Operation *op);
  Interval intervalOfOp(Operation *op, DifferenceRange range);
  Interval intervalOfArgument(BlockArgument argument) const;
  DifferenceRange refineComparison(arith::CmpIOp compare, bool isTrue, DifferenceRange range);

  SmallVector<RegionVariable> leading;
  Block *body;
  DenseMap<Value, IndexSources> sources;
  unsigned depth = 0, steps = 0;
};

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_INDEXRANGE_H
