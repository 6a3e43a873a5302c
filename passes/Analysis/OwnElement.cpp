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

bool readsOwnElement(ReadOp read, Operation *op, DifferenceRange range,
                     llvm::function_ref<bool(unsigned axis, bool isQuery)> isWhole) {
  IndexRanges ranges(op);
  range = narrow(read.getResult(), ranges, range);
  const auto shape = cast<ShapedType>(read.getSource().getType()).getShape();
  SmallVector<PairForm> forms;
  for (auto [axis, index] : llvm::enumerate(read.getIndices())) {
    Value inner = withoutBounds(index, ranges, range);
    const std::optional<PairForm> &form = ranges.sourcesOf(inner).form;
    if (!form || form->isConstant())
      continue;
    // Lowerings clamp indices, so a form distinguishes pairs only if it stays inside the axis.
    const bool isQuery = form->query == 1 && form->key == 0,
               isKey = form->query == 0 && form->key == 1;
    const Interval interval = ranges.intervalOf(inner, range);
    if ((form->constant == 0 && (isQuery || isKey) && isWhole(axis, isQuery)) ||
        (!ShapedType::isDynamic(shape[axis]) && interval.least >= 0 &&
         interval.most < static_cast<double>(shape[axis])))
      forms.push_back(*form);
  }
  // Two forms with a determinant other than 0 have the same values at one pair only.
  for (const PairForm &a : forms)
    for (const PairForm &b : forms)
      if (a.query * b.key != a.key * b.query)
        return true;
  return false;
}

} // namespace mlir::pe
