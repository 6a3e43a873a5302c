//===- IndexRange.h - What an index can be at compile time ------*- C++ -*-===//
//
// For the numbers of a region: which of its variables they depend on, and between which values they
// lie over the pairs that a mask keeps. Unlike ScalarRange.h, which emits code that is evaluated
// for a block of pairs, this is known before any call.
//
// Worked example. Under a causal mask, where 0 <= i - j, the index of
//
//   table[clamp(j - i, -16, 16) + 16, h]
//
// depends on i and j and lies in [0, 16]; j - i alone lies in [-2^31, 0].
//
// Numbers are doubles: positions have 30 bits, so whole numbers in code of a sensible size are
// exact. What has no rule may be anything.
//
//===----------------------------------------------------------------------===//
#ifndef PE_PASSES_ANALYSIS_INDEXRANGE_H
#define PE_PASSES_ANALYSIS_INDEXRANGE_H

#include "dialect/PE/PE.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>
#include <optional>

namespace mlir::pe {

/// The numbers from `least` to `most`.
struct Interval {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();

  bool isConstant() const { return least == most; }
};

/// The leading arguments of regions of scalar code, as bits. A position of pe.embedding_fn counts
/// as that of a query.
enum RegionVariable : unsigned {
  kNoVariable = 0,
  kBatch = 1,
  kHead = 2,
  kQuery = 4,
  kKey = 8,
  kDim = 16
};

/// Returns what the leading arguments of the region of `op` are (pe.bias_fn, pe.score_fn,
/// pe.mask_fn, pe.factor_fn, pe.sink_fn, pe.content_fn, pe.embedding_fn); empty for other ops.
SmallVector<RegionVariable> leadingVariablesOf(Operation *op);

/// query * i + key * j + constant.
struct PairForm {
  double query = 0, key = 0, constant = 0;

  bool isConstant() const { return query == 0 && key == 0; }
  bool isDifference() const { return query != 0 && query == -key; }
};

/// A value's variables: those of its code, and those of the places where it reads tensors.
struct IndexSources {
  unsigned code = 0, data = 0;
  std::optional<PairForm> form;
};

/// The numbers of one region. Code inside sums belongs to it.
class IndexRanges {
public:
  explicit IndexRanges(Operation *op);

  const IndexSources &sourcesOf(Value value);
  /// The numbers that `value` can be at pairs with a difference i - j in `range`.
  Interval intervalOf(Value value, DifferenceRange range);
  /// The differences in `range` where `condition` can be `isTrue`.
  DifferenceRange refine(Value condition, bool isTrue, DifferenceRange range);
  /// The value that an argument of a sum stands for; any other value is itself.
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
