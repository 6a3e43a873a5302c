//===- PEInterfaces.cpp - Helpers over the interfaces ---------------------===//

#include "dialect/PE/PEInterfaces.h"

using namespace mlir;
using namespace mlir::pe;

#include "dialect/PE/PEInterfaces.cpp.inc"

std::optional<DifferenceRange> pe::getDifferenceRange(Value mask) {
  auto op = mask.getDefiningOp<MaskOpInterface>();
  if (!op)
    return std::nullopt;
  SmallVector<DifferenceRange> operands;
  for (Value operand : op->getOperands()) {
    if (operand.getType() != mask.getType())
      continue;
    std::optional<DifferenceRange> range = getDifferenceRange(operand);
    if (!range)
      return std::nullopt;
    operands.push_back(*range);
  }
  return op.getDifferenceRange(operands);
}
