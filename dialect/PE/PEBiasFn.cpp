//===- PEBiasFn.cpp - Biases written as scalar code -----------------------===//
//
// Verifies constraints bias_fn-C1 to bias_fn-C6 of docs/spec.md (PERegions.h).
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEBiases.h"
#include "dialect/PE/PERegions.h"
#include "dialect/PE/PEScalars.h"

using namespace mlir;
using namespace mlir::pe;

constexpr RegionForm kForm = {"bias_fn", RegionForm::Point::Pair};

ParseResult BiasFnOp::parse(OpAsmParser &parser, OperationState &result) {
  result.addTypes(BiasType::get(parser.getContext()));
  return parseScalarRegion(parser, result, kForm);
}

void BiasFnOp::print(OpAsmPrinter &printer) { printScalarRegion(printer, *this); }

LogicalResult BiasFnOp::verify() { return verifyRegionArguments(*this, kForm); }
LogicalResult BiasFnOp::verifyRegions() { return verifyRegionCode(*this, kForm); }

Value BiasFnOp::buildScalar(OpBuilder &builder, Location, const PairPoint &point,
                            ValueRange operands) {
  return cloneRegionCode(builder, getBody(), {point.batch, point.head, point.query, point.key},
                         operands);
}
