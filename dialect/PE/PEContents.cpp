//===- PEContents.cpp - Terms that depend on queries and distances --------===//
//
// Verifies constraints content_fn-C1 to content_fn-C9 of docs/spec.md (PERegions.h has C1 to C6).
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEContents.h"

#include "dialect/PE/PERegions.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/IR/Matchers.h"

#include <optional>

using namespace mlir;
using namespace mlir::pe;

#define GET_OP_CLASSES
#include "dialect/PE/PEContents.cpp.inc"

constexpr RegionForm kForm = {"content_fn", RegionForm::Point::Content};

using UnresolvedOperand = OpAsmParser::UnresolvedOperand;

/// Parses (WORD ( %tensor : type ))?.
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

/// Parses (times ( %factor ))?.
static ParseResult parseTimes(OpAsmParser &parser, OperationState &result, int32_t &count) {
  if (failed(parser.parseOptionalKeyword("times")))
    return success();
  UnresolvedOperand operand;
  count = 1;
  return failure(
      parser.parseLParen() || parser.parseOperand(operand) || parser.parseRParen() ||
      parser.resolveOperand(operand, FactorType::get(parser.getContext()), result.operands));
}

/// Parses (extent ( n ))?.
static ParseResult parseExtent(OpAsmParser &parser, OperationState &result) {
  if (failed(parser.parseOptionalKeyword("extent")))
    return success();
  int64_t extent = 0;
  if (parser.parseLParen() || parser.parseInteger(extent) || parser.parseRParen())
    return failure();
  result.addAttribute("extent", parser.getBuilder().getI64IntegerAttr(extent));
  return success();
}

ParseResult ContentFnOp::parse(OpAsmParser &parser, OperationState &result) {
  result.addTypes(ContentType::get(parser.getContext()));
  int32_t captures = 0, shift = 0, projection = 0, factor = 0;
  auto parseClauses = [&]() -> ParseResult {
    captures = static_cast<int32_t>(result.operands.size());
    return failure(parseTensorClause(parser, "shift", result, shift) ||
                   parseTensorClause(parser, "project", result, projection) ||
                   parseTimes(parser, result, factor) || parseExtent(parser, result));
  };
  if (parseScalarRegion(parser, result, kForm, parseClauses))
    return failure();
  result.addAttribute(getOperandSegmentSizeAttr(), parser.getBuilder().getDenseI32ArrayAttr(
                                                       {captures, shift, projection, factor}));
  return success();
}

void ContentFnOp::print(OpAsmPrinter &printer) {
  auto printClauses = [&] {
    if (Value shift = getShift())
      printer << " shift(" << shift << " : " << shift.getType() << ")";
    if (Value projection = getProjection())
      printer << " project(" << projection << " : " << projection.getType() << ")";
    if (Value factor = getFactor())
      printer << " times(" << factor << ")";
    if (std::optional<int64_t> extent = getExtent())
      printer << " extent(" << *extent << ")";
  };
  printScalarRegion(printer, *this, getCaptures(), printClauses, {"extent"});
}

LogicalResult ContentFnOp::verify() {
  constexpr int64_t most = int64_t(1) << 30; // kernels compare distances in 32 bits
  if (std::optional<int64_t> extent = getExtent();
      extent && (*extent < 1 || *extent > most)) // content_fn-C9
    return emitOpError("expected an extent from 1 to ")
           << most << " distances, found " << *extent
           << "; without a limit, omit extent(...) (content_fn-C9)";
  return verifyRegionArguments(*this, kForm, getCaptures());
}

namespace {
/// The range of an integer value; nullopt for an unknown bound.
struct IntegerRange {
  std::optional<int64_t> low, high;
};
} // namespace

/// Computes ranges through sums, differences, minima and maxima; other values are unbounded.
static IntegerRange rangeOf(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return {number.getSExtValue(), number.getSExtValue()};
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MaxSIOp, arith::MinSIOp>(op))
    return {};
  const IntegerRange a = rangeOf(op->getOperand(0)), b = rangeOf(op->getOperand(1));
  auto both = [](std::optional<int64_t> x, std::optional<int64_t> y, auto combine) {
    return x && y ? std::optional<int64_t>(combine(*x, *y)) : std::nullopt;
  };
  auto sum = [](int64_t x, int64_t y) { return x + y; };
  auto difference = [](int64_t x, int64_t y) { return x - y; };
  if (isa<arith::AddIOp>(op))
    return {both(a.low, b.low, sum), both(a.high, b.high, sum)};
  if (isa<arith::SubIOp>(op))
    return {both(a.low, b.high, difference), both(a.high, b.low, difference)};
  auto larger = [](int64_t x, int64_t y) { return std::max(x, y); };
  auto smaller = [](int64_t x, int64_t y) { return std::min(x, y); };
  auto either = [](std::optional<int64_t> x, std::optional<int64_t> y, auto combine) {
    return x && y ? std::optional<int64_t>(combine(*x, *y)) : x ? x : y;
  };
  if (isa<arith::MaxSIOp>(op))
    return {either(a.low, b.low, larger), both(a.high, b.high, larger)};
  return {both(a.low, b.low, smaller), either(a.high, b.high, smaller)};
}

/// Checks that a clipped index is within the table that it reads.
static LogicalResult verifyRead(ReadOp read) {
  auto shape = cast<RankedTensorType>(read.getSource().getType()).getShape();
  for (auto [index, size] : llvm::zip_equal(read.getIndices(), shape)) {
    const IntegerRange range = rangeOf(index);
    if (ShapedType::isDynamic(size) || !range.low || !range.high)
      continue;
    if (*range.low < 0 || *range.high >= size) // content_fn-C8
      return read.emitOpError("expected an index within an axis of size ")
             << size << ", found one from " << *range.low << " to " << *range.high
             << "; change the clip or the table (content_fn-C8)";
  }
  return success();
}

LogicalResult ContentAttr::verify(function_ref<InFlightDiagnostic()> emitError, ContentClass cls,
                                  int64_t low, int64_t high, StringRef) {
  if ((cls == ContentClass::Near) != (low <= high)) // content-C1
    return emitError() << "expected the distances of class near to contain one, found [" << low
                       << ", " << high << "] (content-C1)";
  return success();
}

DifferenceRange ContentFnOp::limit(DifferenceRange range) {
  if (std::optional<int64_t> extent = getExtent()) {
    range.min = std::max(range.min, 1 - *extent);
    range.max = std::min(range.max, *extent - 1);
  }
  return range;
}

static YieldOp yieldOf(ContentFnOp op) {
  return cast<YieldOp>(op.getBody().front().getTerminator());
}
Value ContentFnOp::getElement() { return yieldOf(*this).getValues()[0]; }
Value ContentFnOp::getAngle() { return yieldOf(*this).getValues()[1]; }

LogicalResult ContentFnOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (isa<PiecewiseOpInterface>(op)) // content_fn-C7
      return op.emitOpError("expected no network in a content term (content_fn-C7)");
  RegionForm form = kForm;
  if (std::optional<ContentAttr> known = getStructure()) // content_fn-C3
    form.values = known->getCls() == ContentClass::Angles ? 2 : 1;
  if (failed(verifyRegionCode(*this, form)))
    return failure();
  for (auto read : getBody().getOps<ReadOp>())
    if (failed(verifyRead(read)))
      return failure();
  return success();
}

Value ContentFnOp::buildElement(OpBuilder &builder, Location, const ContentPoint &point,
                                ValueRange operands) {
  const PairPoint &pair = point.pair;
  return cloneRegionCode(builder, getBody(),
                         {pair.batch, pair.head, pair.query, pair.key, point.dim, point.dims},
                         operands.take_front(getCaptures().size()));
}

bool QueryShiftOp::changesQueries() { return true; }
bool QueryShiftOp::changesKeys() { return false; }

Value QueryShiftOp::buildElement(OpBuilder &builder, Location loc, const RowPoint &point,
                                 Value element, ValueRange operands) {
  Value shift = ReadOp::create(builder, loc, builder.getF32Type(), operands[0],
                               ValueRange{point.head, point.dim});
  return arith::AddFOp::create(builder, loc, element, shift);
}

SmallVector<StringRef> QueryShiftOp::getTensorAxes(Value) { return {"head", "depth"}; }
