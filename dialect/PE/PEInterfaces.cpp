//===- PEInterfaces.cpp - Helpers over the interfaces ---------------------===//

#include "dialect/PE/PEInterfaces.h"

using namespace mlir;
using namespace mlir::pe;

#include "dialect/PE/PEInterfaces.cpp.inc"

/// The mask operands of `op`, in order.
static SmallVector<Value> getMaskOperands(Operation *op, Type maskType) {
  return llvm::to_vector(llvm::make_filter_range(
      op->getOperands(), [&](Value operand) { return operand.getType() == maskType; }));
}

/// Without recursion and once per value: masks may share and chain others any number of times.
std::optional<DifferenceRange> mlir::pe::getDifferenceRange(Value mask) {
  DenseMap<Value, DifferenceRange> known;
  SmallVector<Value> pending = {mask};
  while (!pending.empty()) {
    Value current = pending.back();
    auto op = current.getDefiningOp<MaskOpInterface>();
    if (!op)
      return std::nullopt;
    SmallVector<DifferenceRange> ranges;
    size_t before = pending.size();
    for (Value operand : getMaskOperands(op, mask.getType())) {
      auto found = known.find(operand);
      if (found == known.end())
        pending.push_back(operand);
      else
        ranges.push_back(found->second);
    }
    if (pending.size() != before)
      continue;
    pending.pop_back();
    known[current] = op.getDifferenceRange(ranges);
  }
  return known.lookup(mask);
}
