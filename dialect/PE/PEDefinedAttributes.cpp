//===- PEDefinedAttributes.cpp - Rejection of unknown attributes ----------===//
//
// Verifies constraints attribute-C1 and attribute-C2 of docs/spec.md. Without them, a misspelt
// attribute would silently leave the default in effect, and an unsupported one would be ignored.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEDialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pe;

namespace {

/// Attributes that passes set on operations of pe, and on other operations.
constexpr StringLiteral kNotes[] = {"pe.positions"};
constexpr StringLiteral kNotesElsewhere[] = {"pe.absent",  "pe.decay",   "pe.gradient_of",
                                             "pe.init",    "pe.listing", "pe.min",
                                             "pe.monitor", "pe.plan",    "pe.stage"};

/// Attribute names that users try, and what to use instead.
struct Advice {
  StringLiteral name, text;
};
constexpr Advice kAdvice[] = {
    {"softcap", "write score(%s) with %s = pe.score_fn"},
    {"dropout", "write the clause dropout(p, %seed) of pe.attention"},
    {"sink", "write the clause sink(%s) of pe.attention"},
    {"scaling", "pe.rotary has it; write the changed frequencies in the formula"},
    {"causal", "write mask(%m) with %m = pe.causal"},
    {"window", "write mask(%m) with %m = pe.sliding_window"},
};

/// Returns a suggestion for `name`, which is not in `known`; empty if there is none.
std::string adviseOn(StringRef name, ArrayRef<StringRef> known) {
  for (const Advice &advice : kAdvice)
    if (name == advice.name)
      return advice.text.str();
  StringRef nearest = findNearestName(name, known);
  return nearest.empty() ? "" : ("did you mean '" + nearest + "'?").str();
}

} // namespace

StringRef mlir::pe::findNearestName(StringRef name, ArrayRef<StringRef> known) {
  StringRef nearest;
  unsigned least = (name.size() + 2) / 3 + 1;
  for (StringRef candidate : known) {
    unsigned distance =
        name.edit_distance_insensitive(candidate, /*AllowReplacements=*/true, least);
    if (distance < least) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}

FailureOr<std::string> mlir::pe::parseName(AsmParser &parser, ArrayRef<StringRef> names) {
  SMLoc loc = parser.getCurrentLocation();
  std::string name;
  if (failed(parser.parseKeywordOrString(&name)))
    return failure();
  if (llvm::is_contained(names, name))
    return name;
  StringRef nearest = findNearestName(name, names);
  parser.emitError(loc) << "expected " << llvm::join(names.drop_back(), ", ") << " or "
                        << names.back() << ", found '" << name << "'"
                        << (nearest.empty() ? "" : ("; did you mean '" + nearest + "'?").str());
  return failure();
}

LogicalResult mlir::pe::verifyDefinedAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef full = attribute.getName().getValue(), name = full;
    const bool isOurs = name.consume_front("pe.");
    if ((name.contains('.') && !isOurs) || llvm::is_contained(kNotes, full))
      continue;
    SmallVector<StringRef> names;
    for (StringAttr known : op->getName().getAttributeNames())
      if (!llvm::is_contained({"operandSegmentSizes", "dropped"}, known.getValue()))
        names.push_back(known.getValue());
    InFlightDiagnostic diagnostic = op->emitOpError("expected "); // attribute-C1
    if (names.empty())
      diagnostic << "no attributes";
    else
      diagnostic << "no attributes except " << llvm::join(names, ", ");
    diagnostic << ", found '" << full << "'";
    if (llvm::is_contained(names, name)) // pe.scale
      return diagnostic << "; write '" << name << "' (attribute-C1)";
    if (std::string advice = adviseOn(name, names); !advice.empty())
      diagnostic << "; " << advice;
    return diagnostic << " (attribute-C1)";
  }
  return success();
}

LogicalResult PEDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (op->getDialect() == this || llvm::is_contained(kNotesElsewhere, attribute.getName()))
    return success(); // ops of pe have the trait DefinedAttributes
  return op->emitOpError("expected attributes of pe only on its operations, arguments and results, "
                         "found '") // attribute-C2
         << attribute.getName().getValue() << "' (attribute-C2)";
}
