//===- PESignature.cpp - The types of attentions and merges ---------------===//

#include "dialect/PE/PESignature.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::pe;
using Kind = SignaturePart::Kind;

namespace {
/// Parsed types with their locations.
struct TypeList {
  SmallVector<Type> types;
  SmallVector<SMLoc> locations;
};
} // namespace

/// Returns a list of names, such as "the query, the key and the value".
static std::string namesOf(ArrayRef<SignaturePart> parts) {
  std::string names;
  for (auto [n, part] : llvm::enumerate(parts))
    names += ((n == 0 ? "" : n + 1 == parts.size() ? " and " : ", ") + part.name).str();
  return names;
}

static bool fits(Type type, Kind kind) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  Type element = tensor.getElementType();
  if (kind == Kind::LogSumExp)
    return tensor.getRank() == 3 && element.isF32();
  return tensor.getRank() == 4 && (element.isF32() || element.isBF16() || element.isF16());
}

/// Returns the type of the log-sum-exp for an output.
static Type lseOf(Type output, MLIRContext *context) {
  SmallVector<int64_t> shape(3, ShapedType::kDynamic);
  if (fits(output, Kind::Activations))
    shape.assign(cast<RankedTensorType>(output).getShape().take_front(3).begin(),
                 cast<RankedTensorType>(output).getShape().take_front(3).end());
  return RankedTensorType::get(shape, Float32Type::get(context));
}

/// Parses a comma-separated list of types.
static ParseResult parseTypes(OpAsmParser &parser, const Signature &signature, TypeList &list) {
  do {
    SMLoc loc = parser.getCurrentLocation();
    Type type;
    OptionalParseResult parsed = parser.parseOptionalType(type);
    if (!parsed.has_value())
      return parser.emitError(list.locations.empty() ? loc : list.locations.back())
             << "expected a type" << (list.types.empty() ? "" : " after ','") << ", as in "
             << signature.example;
    if (failed(*parsed))
      return failure();
    list.types.push_back(type);
    list.locations.push_back(loc);
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

/// Checks that each type fits its part of the signature.
static ParseResult checkKinds(OpAsmParser &parser, const Signature &signature,
                              ArrayRef<SignaturePart> parts, const TypeList &list) {
  const bool hasOrder =
      llvm::any_of(parts, [](auto &part) { return part.kind == Kind::LogSumExp; });
  Type activations;
  for (auto [part, type, loc] : llvm::zip(parts, list.types, list.locations)) {
    if (fits(type, part.kind)) {
      activations = part.kind == Kind::Activations ? type : activations;
      continue;
    }
    auto diagnostic = parser.emitError(loc) << "expected ";
    if (part.kind == Kind::LogSumExp)
      diagnostic << lseOf(activations, parser.getContext());
    else
      diagnostic << "a tensor [batch, heads, length, head dim] of f32, bf16 or f16";
    diagnostic << " as the type of " << part.name << ", found " << type;
    if (hasOrder)
      diagnostic << "; the order is " << namesOf(parts);
    return diagnostic;
  }
  return success();
}

/// Reports a clause that follows `what`, which it must precede.
static ParseResult refuseClause(OpAsmParser &parser, const Signature &signature, StringRef what) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef clause;
  if (failed(parser.parseOptionalKeyword(&clause, signature.clauses)))
    return success();
  return parser.emitError(loc) << "expected " << clause << "(...) before " << what
                               << ", found it after them";
}

ParseResult mlir::pe::reportMissingTypes(OpAsmParser &parser, StringRef example) {
  return parser.emitError(parser.getNameLoc())
         << "expected ':' and the types after the operands, as in : " << example;
}

bool mlir::pe::beginsClause(SMLoc loc, StringRef word) {
  const char *next = loc.getPointer() + word.size();
  while (*next == ' ')
    ++next;
  return *next == '(';
}

/// Parses ": (types) ->".
static ParseResult parseOperandTypes(OpAsmParser &parser, const Signature &signature,
                                     TypeList &list) {
  if (failed(parser.parseOptionalColon()))
    return failed(refuseClause(parser, signature, "the attributes in braces"))
               ? failure()
               : reportMissingTypes(parser, signature.example);
  SMLoc begin = parser.getCurrentLocation();
  if (failed(parser.parseOptionalLParen()))
    return parser.emitError(begin) << "expected the types of " << namesOf(signature.operands)
                                   << " in parentheses, as in " << signature.example;
  if (parseTypes(parser, signature, list))
    return failure();
  const size_t expected = signature.operands.size();
  if (failed(parser.parseOptionalRParen()))
    return parser.emitError(list.locations.back())
           << "expected ')' after the types of " << namesOf(signature.operands) << ", as in "
           << signature.example;
  if (list.types.size() != expected)
    return parser.emitError(begin)
           << "expected " << expected << " types, of " << namesOf(signature.operands) << ", found "
           << list.types.size() << "; write " << signature.example;
  if (checkKinds(parser, signature, signature.operands, list))
    return failure();
  if (failed(parser.parseOptionalArrow()))
    return parser.emitError(begin)
           << "expected '->' and the type of " << signature.results[0].name
           << " after the types of the operands, as in " << signature.example;
  return success();
}

/// Checks that there are as many types as results, and as many names as types.
static ParseResult checkCounts(OpAsmParser &parser, const Signature &signature,
                               const TypeList &list) {
  const size_t names = parser.getNumResults(), types = list.types.size();
  ArrayRef<SignaturePart> results = signature.results;
  const bool isPartial = types < results.size() && !results[types].isOptional;
  if (types > results.size())
    return parser.emitError(list.locations[results.size()])
           << "expected at most " << results.size() << " results, " << namesOf(results)
           << ", found " << types << "; omit the other types";
  if (names > results.size())
    return parser.emitError(parser.getNameLoc())
           << "expected at most " << results.size() << " results, " << namesOf(results)
           << ", found " << names << " names; omit the other names";
  if (isPartial || names > types) {
    auto diagnostic = parser.emitError(list.locations.back());
    diagnostic << "expected the type of " << results[types].name << " after that of "
               << results[types - 1].name << ", found one type";
    if (names > types)
      diagnostic << " for " << names << " results";
    const Type lse = lseOf(list.types[0], parser.getContext());
    return diagnostic << "; write -> " << llvm::formatv("{0}, {1}", list.types[0], lse).str();
  }
  if (names != 0 && names < types)
    return parser.emitError(parser.getNameLoc())
           << "expected a name for each of the " << types
           << " results, as in %o, %lse = " << signature.op << ", found " << names
           << (results[names].isOptional ? "; or omit the second type" : "");
  return success();
}

ParseResult mlir::pe::parseSignature(OpAsmParser &parser, const Signature &signature,
                                     ArrayRef<Type *> types) {
  TypeList operands, results;
  if (parseOperandTypes(parser, signature, operands))
    return failure();
  SMLoc begin = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalLParen()))
    return parser.emitError(begin) << "expected the types of the results without parentheses, as "
                                      "in "
                                   << signature.example;
  if (parseTypes(parser, signature, results) ||
      checkKinds(parser, signature, signature.results, results) ||
      checkCounts(parser, signature, results))
    return failure();
  if (refuseClause(parser, signature, "':' and the types"))
    return failure();
  llvm::append_range(operands.types, results.types);
  for (auto [place, type] : llvm::zip(types, operands.types))
    *place = type;
  return success();
}

void mlir::pe::printSignature(OpAsmPrinter &printer, ArrayRef<Type> operands,
                              ArrayRef<Type> results) {
  printer << ": (";
  llvm::interleaveComma(operands, printer);
  printer << ") -> ";
  llvm::interleaveComma(llvm::make_filter_range(results, [](Type type) { return bool(type); }),
                        printer);
}
