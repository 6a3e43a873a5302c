//===- PEContents.cpp - Terms that depend on queries and distances --------===//
//
// Constraints content_fn-C1 to content_fn-C7 of docs/spec.md (PERegions.h has C1 to C6).
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEContents.h"

#include "dialect/PE/PERegions.h"
#include "dialect/PE/PEScalars.h"

using namespace mlir;
using namespace mlir::pe;

#define GET_OP_CLASSES
#include "dialect/PE/PEContents.cpp.inc"

constexpr RegionForm kForm = {"content_fn", RegionForm::Point::Content};

using UnresolvedOperand = OpAsmParser::UnresolvedOperand;

/// WORD ( %tensor : type ), if it is there.
static ParseResult parseTensorClause(OpAsmParser &parser, StringRef word, OperationState &result,
                                     int32_t &count) {
  if (failed(parser.parseOptionalKeyword(word)))
    return success();
  UnresolvedOperand operand;
  Type type;
  count = 1;
  return failure(parser.parseLParen() || parser.parseOperand(operand) ||
                 parser.parseColonType(type) || parser.parseRParen() ||
                 parser.resolveOperand(operand, type, result.operands));
}

ParseResult ContentFnOp::parse(OpAsmParser &parser, OperationState &result) {
  result.addTypes(ContentType::get(parser.getContext()));
  int32_t captures = 0, shift = 0, projection = 0;
  auto parseClauses = [&]() -> ParseResult {
    captures = static_cast<int32_t>(result.operands.size());
    return failure(parseTensorClause(parser, "shift", result, shift) ||
                   parseTensorClause(parser, "project", result, projection));
  };
  if (parseScalarRegion(parser, result, kForm, parseClauses))
    return failure();
  result.addAttribute(getOperandSegmentSizeAttr(),
                      parser.getBuilder().getDenseI32ArrayAttr({captures, shift, projection}));
  return success();
}

void ContentFnOp::print(OpAsmPrinter &printer) {
  auto printClauses = [&] {
    if (Value shift = getShift())
      printer << " shift(" << shift << " : " << shift.getType() << ")";
    if (Value projection = getProjection())
      printer << " project(" << projection << " : " << projection.getType() << ")";
  };
  printScalarRegion(printer, *this, getCaptures(), printClauses);
}

LogicalResult ContentFnOp::verify() { return verifyRegionArguments(*this, kForm, getCaptures()); }

LogicalResult ContentFnOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (isa<MlpEvalOp>(op)) // content_fn-C7
      return op.emitOpError("expected no network in a content term (content_fn-C7)");
  return verifyRegionCode(*this, kForm);
}

bool QueryShiftOp::changesQueries() { return true; }
bool QueryShiftOp::changesKeys() { return false; }

Value QueryShiftOp::buildElement(OpBuilder &builder, Location loc, const RowPoint &point,
                                 Value element, ValueRange operands) {
  Value shift = ReadOp::create(builder, loc, builder.getF32Type(), operands[0],
                               ValueRange{point.head, point.dim});
  return arith::AddFOp::create(builder, loc, element, shift);
}
