//===- PEBiasFn.cpp - Biases written as scalar code -----------------------===//

#include "dialect/Math/ScalarOps.h"
#include "dialect/PE/ExpressionEmitter.h"
#include "dialect/PE/PEBiases.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::pe;

//===----------------------------------------------------------------------===//
// Syntax: pe.bias_fn(captures : types)? attributes? ({region} | expr "formula")
//===----------------------------------------------------------------------===//

namespace {
using Captures = SmallVector<OpAsmParser::UnresolvedOperand>;
} // namespace

/// `text` begins at the character `start` of the file.
static ParseResult parseFormula(OpAsmParser &parser, StringRef text, SMLoc start,
                                const Captures &captures, Block &block) {
  auto locate = [&](size_t offset) {
    return parser.getEncodedSourceLoc(SMLoc::getFromPointer(start.getPointer() + offset));
  };
  auto report = [&](size_t offset, const Twine &message) -> LogicalResult {
    return parser.emitError(SMLoc::getFromPointer(start.getPointer() + offset), message);
  };
  std::variant<Expression, ::pe::plan::ExpressionError> parsed =
      ::pe::plan::parseExpression({text.data(), text.size()});
  if (auto *error = std::get_if<::pe::plan::ExpressionError>(&parsed))
    return report(error->offset, error->message);
  ExpressionScope scope{{}, locate, report};
  for (auto [name, argument] :
       llvm::zip(ArrayRef<StringRef>{"b", "h", "i", "j"}, block.getArguments()))
    scope.names[name] = argument;
  for (auto [capture, argument] : llvm::zip_equal(captures, block.getArguments().drop_front(4)))
    if (!scope.names.try_emplace(capture.name.drop_front(), argument).second)
      return parser.emitError(capture.location, "expected a capture with a name of its own, found ")
             << capture.name << "; b, h, i and j are the point, and a tensor is captured once";
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&block);
  FailureOr<Value> value = emitExpression(std::get<Expression>(parsed), builder, scope);
  if (failed(value))
    return failure();
  YieldOp::create(builder, locate(0), *value);
  // Whole constants that became real ones.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return success();
}

static ParseResult parseFormulaBody(OpAsmParser &parser, OperationState &result,
                                    const Captures &captures, ArrayRef<Type> types, Region &body) {
  SMLoc quote = parser.getCurrentLocation();
  std::string text;
  if (parser.parseString(&text))
    return failure();
  // Escapes would shift every character behind them.
  if (StringRef(quote.getPointer(), text.size() + 2) != "\"" + text + "\"")
    return parser.emitError(quote, "expected a formula without escape characters");
  Block &block = body.emplaceBlock();
  for (int position = 0; position < 4; ++position)
    block.addArgument(parser.getBuilder().getIndexType(), result.location);
  for (Type type : types)
    block.addArgument(type, result.location);
  SMLoc start = SMLoc::getFromPointer(quote.getPointer() + 1);
  return parseFormula(parser, text, start, captures, block);
}

ParseResult BiasFnOp::parse(OpAsmParser &parser, OperationState &result) {
  Captures captures;
  SmallVector<Type> types;
  SMLoc start = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalLParen()) &&
      (parser.parseOperandList(captures) || parser.parseColonTypeList(types) ||
       parser.parseRParen()))
    return failure();
  if (captures.size() != types.size())
    return parser.emitError(start, "expected one type per capture, found ")
           << types.size() << " for " << captures.size();
  Region &body = *result.addRegion();
  if (parser.resolveOperands(captures, types, start, result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addTypes(BiasType::get(parser.getContext()));
  if (succeeded(parser.parseOptionalKeyword("expr")))
    return parseFormulaBody(parser, result, captures, types, body);
  return parser.parseRegion(body);
}

void BiasFnOp::print(OpAsmPrinter &printer) {
  if (!getCaptures().empty())
    printer << "(" << getCaptures() << " : " << getCaptures().getTypes() << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << ' ';
  printer.printRegion(getBody());
}

//===----------------------------------------------------------------------===//
// BiasFnOp
//===----------------------------------------------------------------------===//

LogicalResult BiasFnOp::verify() {
  Block &block = getBody().front();
  size_t expected = 4 + getCaptures().size();
  if (block.getNumArguments() != expected) // bias_fn-C1
    return emitOpError("expected ")
           << expected << " region arguments (b, h, i, j and one per capture), found "
           << block.getNumArguments() << " (bias_fn-C1)";
  for (auto [n, argument] : llvm::enumerate(block.getArguments())) {
    Type type = n < 4 ? Type(IndexType::get(getContext())) : getCaptures()[n - 4].getType();
    if (argument.getType() != type) // bias_fn-C2
      return emitOpError("expected region argument ") << n << " to have type " << type << ", found "
                                                      << argument.getType() << " (bias_fn-C2)";
  }
  return success();
}

LogicalResult mlir::pe::verifyScalarOp(Operation &op) {
  StringRef name = op.getName().getStringRef();
  const bool isPE = isa<ReadOp, MlpEvalOp, GlobalHeadOp, HeadsTotalOp, PiecewiseOpInterface>(op);
  const bool isKnown =
      isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op.getDialect()) || isPE;
  const bool areNumbers =
      llvm::all_of(op.getResultTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); });
  if (!isKnown || !areNumbers) // bias_fn-C4
    return op.emitError("expected ops of arith, math or pe on single numbers, found '")
           << name
           << "'; a region is scalar code, tensors are read with pe.read "
              "(bias_fn-C4)";
  if (!isPE && !::pe::math::findScalarOp(name)) // bias_fn-C5
    return op.emitError("expected an op of arith or math that every target has (docs/spec.md lists "
                        "them), found '")
           << name << "' (bias_fn-C5)";
  for (Type type : op.getResultTypes())
    if (!type.isF32() && !type.isF64() && !type.isIndex() && !type.isInteger(1) &&
        !type.isInteger(8) && !type.isInteger(16) && !type.isInteger(32) &&
        !type.isInteger(64)) // bias_fn-C6
      return op.emitError(
                 "expected numbers of type f32, f64, i1, i8, i16, i32, i64 or index, found ")
             << type << "; compute in a wider type (bias_fn-C6)";
  return success();
}

LogicalResult BiasFnOp::verifyRegions() {
  for (Operation &op : getBody().front().without_terminator())
    if (failed(verifyScalarOp(op)))
      return failure();
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield) // bias_fn-C3
    return emitOpError("expected the region to end with pe.yield (bias_fn-C3)");
  if (yield.getValues().size() != 1 || !yield.getValues()[0].getType().isF32()) // bias_fn-C3
    return yield.emitOpError("expected one f32 value, found ")
           << yield.getOperandTypes() << " (bias_fn-C3)";
  return success();
}

Value BiasFnOp::buildScalar(OpBuilder &builder, Location, const PairPoint &point,
                            ValueRange operands) {
  Block &block = getBody().front();
  IRMapping mapping;
  mapping.map(block.getArguments().take_front(4),
              ValueRange{point.batch, point.head, point.query, point.key});
  mapping.map(block.getArguments().drop_front(4), operands);
  for (Operation &op : block.without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(cast<YieldOp>(block.getTerminator()).getValues()[0]);
}
