//===- PEDocuments.cpp - Documents packed into one sequence ---------------===//

#include "dialect/PE/PEMasks.h"
#include "dialect/PE/PEScalarBuilder.h"
#include "dialect/PE/PEScalars.h"

using namespace mlir;
using namespace mlir::pe;

/// Counts the boundaries at or before `position`.
static Value countBoundaries(OpBuilder &builder, Location loc, Value boundaries, Value position) {
  Value inputs[] = {boundaries, position};
  auto sum = SumOp::create(builder, loc, builder.getF32Type(), ValueRange(inputs), IntegerAttr(),
                           builder.getDenseI64ArrayAttr({0, 0}));
  Block &block = sum.getBody().emplaceBlock();
  Value n = block.addArgument(builder.getIndexType(), loc);
  Value tensor = block.addArgument(boundaries.getType(), loc);
  Value at = block.addArgument(position.getType(), loc);
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  ScalarBuilder f(inner, loc, PairPoint());
  Value boundary = f.create<arith::IndexCastOp>(inner.getIndexType(), f.read(tensor, n));
  Value isBefore = f.create<arith::CmpIOp>(arith::CmpIPredicate::sle, boundary, at);
  YieldOp::create(inner, loc, f.select(isBefore, f.number(1), f.number(0)));
  return sum;
}

/// Emits the comparison of the numbers of boundaries up to both positions, which are equal if the
/// positions are in the same document.
Value DocumentsOp::buildScalar(OpBuilder &builder, Location loc, const PairPoint &point,
                               ValueRange operands) {
  Value query = countBoundaries(builder, loc, operands[0], point.query);
  Value key = countBoundaries(builder, loc, operands[0], point.key);
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, query, key);
}

DifferenceRange DocumentsOp::getDifferenceRange(ArrayRef<DifferenceRange>) {
  return {.exact = false};
}

Value DocumentsOp::getDocumentBoundaries() { return getBoundaries(); }

bool DocumentsOp::restartsPositions() { return getRestart(); }
