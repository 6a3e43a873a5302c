//===- PERegions.cpp - Regions of scalar code -----------------------------===//

#include "dialect/PE/PERegions.h"

#include "dialect/PE/ArgumentNames.h"
#include "dialect/PE/ExpressionEmitter.h"
#include "dialect/PE/PEBiases.h"
#include "dialect/PE/PEScalars.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pe;

ArrayRef<StringRef> RegionForm::names() const {
  static constexpr StringRef pair[] = {"s", "b", "h", "i", "j"}, token[] = {"p", "d", "dim", "n"},
                             content[] = {"b", "h", "i", "j", "d", "dim"}, dims[] = {"h", "p", "n"};
  if (point == Point::Token)
    return token;
  if (point == Point::Content)
    return content;
  if (point == Point::Dims)
    return dims;
  if (point == Point::Row)
    return ArrayRef(pair).slice(1, 3);
  return ArrayRef(pair).drop_front(point == Point::Score ? 0 : 1);
}

Type RegionForm::typeOf(MLIRContext *context, unsigned argument) const {
  if (point == Point::Score && argument == 0)
    return Float32Type::get(context);
  return IndexType::get(context);
}

StringRef RegionForm::adviceOnResult() const {
  if (isMask)
    return "a mask is only the condition, as in j <= i; select(condition, 0, -inf) is a bias, for "
           "pe.bias_fn";
  if (op == "bias_fn")
    return "a bias is select(condition, 0, -inf); the condition itself is a mask, for pe.mask_fn";
  return "use select(condition, a, b)";
}

Type mlir::pe::typeInRegion(Type capture) {
  if (isa<CoordinateType>(capture))
    return Float32Type::get(capture.getContext());
  return capture;
}

//===----------------------------------------------------------------------===//
// Syntax: OP(captures : types)? attributes? ({region} | expr "formula")
//===----------------------------------------------------------------------===//

namespace {
using Captures = SmallVector<OpAsmParser::UnresolvedOperand>;
} // namespace

/// Parses the formula `text`, which begins at `start`, into `block`.
static ParseResult parseFormula(OpAsmParser &parser, StringRef text, SMLoc start,
                                const Captures &captures, ValueRange values, const RegionForm &form,
                                Block &block) {
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
  ExpressionScope scope{{},
                        {},
                        locate,
                        report,
                        llvm::join(form.names(), ", "),
                        form.point != RegionForm::Point::Token};
  scope.adviceOnResult = form.adviceOnResult();
  if (form.point != RegionForm::Point::Token)
    scope.advice["s"] = "; only pe.score_fn has s, the scaled product of query and key";
  if (form.isWide()) {
    scope.real = Float64Type::get(parser.getContext());
    scope.advice["i"] = scope.advice["j"] =
        "; the angle is the position times this frequency, which must not depend on positions";
  }
  const size_t leading = form.names().size();
  for (auto [name, argument] : llvm::zip(form.names(), block.getArguments()))
    scope.names[name] = argument;
  for (auto [capture, argument] :
       llvm::zip_equal(captures, block.getArguments().drop_front(leading)))
    if (!scope.names.try_emplace(capture.name.drop_front(), argument).second)
      return parser.emitError(capture.location, "expected a capture with a unique name, found ")
             << capture.name << "; " << llvm::join(form.names(), ", ")
             << " are reserved, and a tensor is captured once";
  for (auto [capture, value] : llvm::zip_equal(captures, values))
    if (StringRef name = findNameInSignature(parser, start, value, capture.name);
        !name.empty() && !scope.names.contains(name))
      scope.aliases.try_emplace(name, capture.name.drop_front());
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&block);
  const auto &formula = std::get<Expression>(parsed);
  FailureOr<Value> value = form.isMask ? emitCondition(formula, builder, scope)
                                       : emitExpression(formula, builder, scope);
  if (failed(value))
    return failure();
  YieldOp::create(builder, locate(0), *value);
  // Erase integer constants that were converted to real ones.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return success();
}

static ParseResult parseFormulaBody(OpAsmParser &parser, OperationState &result,
                                    const Captures &captures, ArrayRef<Type> types,
                                    const RegionForm &form, Region &body) {
  SMLoc quote = parser.getCurrentLocation();
  std::string text;
  if (parser.parseString(&text))
    return failure();
  // Escapes would shift the offsets of the characters after them.
  if (StringRef(quote.getPointer(), text.size() + 2) != "\"" + text + "\"")
    return parser.emitError(quote, "expected a formula without escape characters");
  Block &block = body.emplaceBlock();
  for (unsigned n = 0; n < form.names().size(); ++n)
    block.addArgument(form.typeOf(parser.getContext(), n), result.location);
  for (auto [capture, type] : llvm::zip_equal(captures, types))
    block.addArgument(typeInRegion(type), parser.getEncodedSourceLoc(capture.location));
  SMLoc start = SMLoc::getFromPointer(quote.getPointer() + 1);
  ValueRange values(result.operands);
  return parseFormula(parser, text, start, captures, values.take_front(captures.size()), form,
                      block);
}

ParseResult mlir::pe::parseScalarRegion(OpAsmParser &parser, OperationState &result,
                                        const RegionForm &form,
                                        llvm::function_ref<ParseResult()> parseClauses) {
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
      (parseClauses && parseClauses()) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("expr")))
    return parseFormulaBody(parser, result, captures, types, form, body);
  return parser.parseRegion(body);
}

void mlir::pe::printScalarRegion(OpAsmPrinter &printer, Operation *op) {
  printScalarRegion(printer, op, op->getOperands(), [] {});
}

void mlir::pe::printScalarRegion(OpAsmPrinter &printer, Operation *op, OperandRange captures,
                                 llvm::function_ref<void()> printClauses,
                                 ArrayRef<StringRef> attributesOfClauses) {
  if (!captures.empty())
    printer << "(" << captures << " : " << captures.getTypes() << ")";
  printClauses();
  SmallVector<StringRef> elided = {"operandSegmentSizes"};
  llvm::append_range(elided, attributesOfClauses);
  for (NamedAttribute attribute : op->getAttrs())
    if (auto flag = dyn_cast<BoolAttr>(attribute.getValue()); flag && !flag.getValue())
      elided.push_back(attribute.getName()); // the default of every flag
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), elided);
  printer << ' ';
  printer.printRegion(op->getRegion(0));
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

LogicalResult mlir::pe::verifyRegionArguments(Operation *op, const RegionForm &form) {
  return verifyRegionArguments(op, form, op->getOperands());
}

LogicalResult mlir::pe::verifyRegionArguments(Operation *op, const RegionForm &form,
                                              ValueRange captures) {
  Block &block = op->getRegion(0).front();
  const size_t leading = form.names().size(), expected = leading + captures.size();
  if (block.getNumArguments() != expected) // C1
    return op->emitOpError("expected ")
           << expected << " region arguments (" << llvm::join(form.names(), ", ")
           << " and one per capture), found " << block.getNumArguments() << " (" << form.op
           << "-C1)";
  for (auto [n, argument] : llvm::enumerate(block.getArguments())) {
    Type type = n < leading ? form.typeOf(op->getContext(), n)
                            : typeInRegion(captures[n - leading].getType());
    if (argument.getType() != type) // C2
      return op->emitOpError("expected region argument ")
             << n << " to have type " << type << ", found " << argument.getType() << " (" << form.op
             << "-C2)";
  }
  return success();
}

LogicalResult mlir::pe::verifyRegionCode(Operation *region, const RegionForm &form) {
  Block &block = region->getRegion(0).front();
  for (Operation &op : block.without_terminator())
    if (!(form.drawsChance && isa<DropoutFactorOp>(op)) && failed(verifyScalarOp(op, form.op)))
      return failure();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield) // C3
    return region->emitOpError("expected the region to end with pe.yield (") << form.op << "-C3)";
  auto isWanted = [&](Type type) {
    return form.isMask ? type.isInteger(1) : type.isF32() || (form.isWide() && type.isF64());
  };
  if (yield.getValues().size() == form.values && llvm::all_of(yield.getOperandTypes(), isWanted))
    return success();
  InFlightDiagnostic diagnostic = yield.emitOpError("expected ");
  diagnostic << (form.values == 1 ? "one " : "two values of type ")
             << (form.isMask     ? "i1"
                 : form.isWide() ? "f32 or f64"
                                 : "f32")
             << (form.values == 1 ? " value, found " : ", found ") << yield.getOperandTypes();
  const bool isOtherKind = llvm::any_of(yield.getOperandTypes(), [&](Type type) {
    return form.isMask ? isa<FloatType>(type) : type.isInteger(1);
  });
  if (isOtherKind)
    diagnostic << "; " << form.adviceOnResult();
  return diagnostic << " (" << form.op << "-C3)";
}

Value mlir::pe::cloneRegionCode(OpBuilder &builder, Region &region, ValueRange leading,
                                ValueRange captures) {
  Block &block = region.front();
  IRMapping mapping;
  mapping.map(block.getArguments().take_front(leading.size()), leading);
  mapping.map(block.getArguments().drop_front(leading.size()), captures);
  for (Operation &op : block.without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(cast<YieldOp>(block.getTerminator()).getValues()[0]);
}

void mlir::pe::dropUnusedCaptures(Operation *op, unsigned count) {
  unsigned remaining = count;
  for (unsigned n = count; n-- > 0;) {
    SmallVector<BlockArgument> arguments;
    for (Region &region : op->getRegions())
      arguments.push_back(region.getArgument(region.getNumArguments() - remaining + n));
    if (!llvm::all_of(arguments, [](BlockArgument argument) { return argument.use_empty(); }))
      continue;
    for (BlockArgument argument : arguments)
      argument.getOwner()->eraseArgument(argument.getArgNumber());
    op->eraseOperand(n);
    --remaining;
  }
}
