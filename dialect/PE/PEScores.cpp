//===- PEScores.cpp - Score functions -------------------------------------===//
//
// Verifies constraints score_fn-C1 to score_fn-C7 of docs/spec.md (PERegions.h).
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEScores.h"

#include "dialect/PE/PERegions.h"

using namespace mlir;
using namespace mlir::pe;

#define GET_OP_CLASSES
#include "dialect/PE/PEScores.cpp.inc"

constexpr RegionForm kForm = {"score_fn", RegionForm::Point::Score};

ParseResult ScoreFnOp::parse(OpAsmParser &parser, OperationState &result) {
  result.addTypes(ScoreType::get(parser.getContext()));
  return parseScalarRegion(parser, result, kForm);
}

void ScoreFnOp::print(OpAsmPrinter &printer) { printScalarRegion(printer, *this); }

LogicalResult ScoreFnOp::verify() { return verifyRegionArguments(*this, kForm); }
LogicalResult ScoreFnOp::verifyRegions() {
  if (getPerQuery() && !getBody().getArgument(4).use_empty()) // score_fn-C7
    return emitOpError("expected a function per query not to read j (score_fn-C7)");
  return verifyRegionCode(*this, kForm);
}

Value ScoreFnOp::buildScore(OpBuilder &builder, Location, const PairPoint &point, Value score,
                            ValueRange operands) {
  return cloneRegionCode(builder, getBody(),
                         {score, point.batch, point.head, point.query, point.key}, operands);
}
