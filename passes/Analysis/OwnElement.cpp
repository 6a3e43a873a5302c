//===- OwnElement.cpp - reads of an element per pair ----------------------===//
#include "passes/Analysis/OwnElement.h"

#include "passes/Analysis/IndexRange.h"

namespace mlir::pe {

/// Returns the differences in `range` at which the result depends on `value`: those for which the
/// selects on the way to the result choose it.
static DifferenceRange narrow(Value value, IndexRanges &ranges, DifferenceRange range) {
  while (value.hasOneUse()) {
    Operation *user = *value.getUsers().begin();
    if (user->getNumResults() != 1 || user->getBlock() != value.getParentBlock())
      break;
    if (auto select = dyn_cast<arith::SelectOp>(user); select && value != select.getCondition())
      range = ranges.refine(select.getCondition(), value == select.getTrueValue(), range);
    value = user->getResult(0);
  }
  return range;
}

/// Removes minima and maxima that have no effect at these differences.
static Value withoutBounds(Value index, IndexRanges &ranges, DifferenceRange range) {
  while (Operation *op = index.getDefiningOp()) {
    const bool isLeast = isa<arith::MinSIOp>(op);
    if (!isLeast && !isa<arith::MaxSIOp>(op))
      break;
    const Interval a = ranges.intervalOf(op->getOperand(0), range),
                   b = ranges.intervalOf(op->getOperand(1), range);
    if (isLeast ? a.most <= b.least : a.least >= b.most)
      index = op->getOperand(0);
    else if (isLeast ? b.most <= a.least : b.least >= a.most)
      index = op->getOperand(1);
    else
      break;
  }
  return index;
}

namespace {

/// An index that differs between pairs, if the axis has a length.
struct FreeIndex {
  PairForm form;
  std::optional<AxisLength> length;
};

} // namespace

/// Returns the index, or std::nullopt if it may be clamped at any length. Lowerings clamp indices,
/// so a form distinguishes pairs only if it stays inside the axis.
static std::optional<FreeIndex> freeIndexOf(const PairForm &form, const Interval &interval,
                                            unsigned axis, int64_t size, bool isWhole) {
  const bool isQuery = form.query == 1 && form.key == 0, isKey = form.query == 0 && form.key == 1;
  const bool isPosition = form.constant == 0 && (isQuery || isKey);
  if (isPosition && isWhole)
    return FreeIndex{form, std::nullopt};
  if (!ShapedType::isDynamic(size))
    return interval.least >= 0 && interval.most < static_cast<double>(size)
               ? std::optional(FreeIndex{form, std::nullopt})
               : std::nullopt;
  if (isPosition)
    return FreeIndex{form, AxisLength{isQuery ? AxisLength::Query : AxisLength::Key, axis,
                                      isQuery ? "q_start + r" : "k_start + c"}};
  constexpr double kMost = 1 << 30;
  if (interval.least < 0 || !(interval.most < kMost))
    return std::nullopt;
  return FreeIndex{form, AxisLength{AxisLength::Distance, axis,
                                    std::to_string(static_cast<int64_t>(interval.most) + 1)}};
}

std::optional<SmallVector<AxisLength>>
lengthsOfOwnElements(ReadOp read, Operation *op, DifferenceRange range,
                     llvm::function_ref<bool(unsigned axis, bool isQuery)> isWhole) {
  IndexRanges ranges(op);
  range = narrow(read.getResult(), ranges, range);
  const auto shape = cast<ShapedType>(read.getSource().getType()).getShape();
  SmallVector<FreeIndex> indices;
  for (auto [axis, index] : llvm::enumerate(read.getIndices())) {
    Value inner = withoutBounds(index, ranges, range);
    const std::optional<PairForm> form = ranges.sourcesOf(inner).form;
    if (!form || form->isConstant())
      continue;
    if (std::optional<FreeIndex> found =
            freeIndexOf(*form, ranges.intervalOf(inner, range), axis, shape[axis],
                        isWhole(axis, /*isQuery=*/form->key == 0)))
      indices.push_back(*found);
  }
  // Two forms with a determinant other than 0 have the same values at one pair only.
  std::optional<SmallVector<AxisLength>> best;
  for (const auto &[number, a] : llvm::enumerate(ArrayRef(indices)))
    for (const FreeIndex &b : ArrayRef(indices).drop_front(number + 1)) {
      if (a.form.query * b.form.key == a.form.key * b.form.query)
        continue;
      SmallVector<AxisLength> lengths;
      for (const FreeIndex *each : {&a, &b})
        if (each->length)
          lengths.push_back(*each->length);
      if (!best || lengths.size() < best->size())
        best = std::move(lengths);
    }
  return best;
}

} // namespace mlir::pe
