//===- PEWeights.cpp - Factors on weights, and sinks ----------------------===//
//
// Verifies constraints factor_fn-C1 to -C8 and sink_fn-C1 to -C6 of docs/spec.md (PERegions.h).
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEWeights.h"

#include "dialect/PE/PERegions.h"

using namespace mlir;
using namespace mlir::pe;

#define GET_OP_CLASSES
#include "dialect/PE/PEWeights.cpp.inc"

constexpr RegionForm kFactor = {"factor_fn", RegionForm::Point::Pair, /*isMask=*/false,
                                /*drawsChance=*/true};
constexpr RegionForm kSink = {"sink_fn", RegionForm::Point::Row};

//===- Factors ----------------------------------------------------------------===//

ParseResult FactorFnOp::parse(OpAsmParser &parser, OperationState &result) {
  result.addTypes(FactorType::get(parser.getContext()));
  return parseScalarRegion(parser, result, kFactor);
}

void FactorFnOp::print(OpAsmPrinter &printer) { printScalarRegion(printer, *this); }

LogicalResult FactorFnOp::verify() {
  for (Type type : getCaptures().getTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    if (tensor.getElementType().isInteger(64) && tensor.getRank() > 1) // factor_fn-C7
      return emitOpError("expected a seed, or one per batch entry, found ")
             << type << "; captured integers are i32 (factor_fn-C7)";
  }
  return verifyRegionArguments(*this, kFactor);
}
LogicalResult FactorFnOp::verifyRegions() {
  if (getPerQuery() && (!getBody().getArgument(3).use_empty() || !getDraws().empty())) // C8
    return emitOpError("expected a factor per query to read neither j nor a random draw "
                       "(factor_fn-C8)");
  return verifyRegionCode(*this, kFactor);
}

Value FactorFnOp::buildFactor(OpBuilder &builder, Location, const PairPoint &point,
                              ValueRange operands) {
  return cloneRegionCode(builder, getBody(), {point.batch, point.head, point.query, point.key},
                         operands);
}

SmallVector<DropoutFactorOp> FactorFnOp::getDraws() {
  return llvm::to_vector(getBody().getOps<DropoutFactorOp>());
}

Value FactorFnOp::getSeed(DropoutFactorOp draw) {
  const unsigned leading = getBody().getNumArguments() - getCaptures().size();
  return getCaptures()[cast<BlockArgument>(draw.getSeed()).getArgNumber() - leading];
}

//===- Sinks ------------------------------------------------------------------===//

ParseResult SinkFnOp::parse(OpAsmParser &parser, OperationState &result) {
  result.addTypes(SinkType::get(parser.getContext()));
  return parseScalarRegion(parser, result, kSink);
}

void SinkFnOp::print(OpAsmPrinter &printer) { printScalarRegion(printer, *this); }

LogicalResult SinkFnOp::verify() { return verifyRegionArguments(*this, kSink); }
LogicalResult SinkFnOp::verifyRegions() { return verifyRegionCode(*this, kSink); }

Value SinkFnOp::buildLogit(OpBuilder &builder, Location, const PairPoint &row,
                           ValueRange operands) {
  return cloneRegionCode(builder, getBody(), {row.batch, row.head, row.query}, operands);
}

Value SinkFnOp::getLogits() {
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  auto read = yield.getValues()[0].getDefiningOp<ReadOp>();
  auto source = read ? dyn_cast<BlockArgument>(read.getSource()) : BlockArgument();
  if (!source || read.getIndices().size() != 1 || read.getIndices()[0] != getBody().getArgument(1))
    return {};
  return getCaptures()[source.getArgNumber() - 3];
}
