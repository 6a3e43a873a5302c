//===- PEDefinedAttributes.cpp - attributes that nobody defines -----------===//
//
// A misspelt attribute would silently leave the right one at its default, and an unsupported one
// would be ignored: constraints attribute-C1 and attribute-C2 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEDialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::pe;

namespace {

/// Attributes that passes write on operations of pe, and on others.
constexpr StringLiteral kNotes[] = {"pe.dropped", "pe.positions"};
constexpr StringLiteral kNotesElsewhere[] = {
    "pe.absent", "pe.decay",   "pe.emulated_syncs", "pe.frame_words",  "pe.gradient_of", "pe.init",
    "pe.min",    "pe.monitor", "pe.plan",           "pe.shared_bytes", "pe.stage"};

/// Names that users try, and what to use instead.
struct Advice {
  StringLiteral name, text;
};
constexpr Advice kAdvice[] = {
    {"softcap", "soft-capping is not built yet"},
    {"dropout", "dropout is not built yet"},
    {"sink", "attention sinks are not built yet"},
    {"scaling", "it is of pe.rotary; a formula writes the changed frequencies itself"},
    {"causal", "write mask(%m) with %m = pe.causal"},
    {"window", "write mask(%m) with %m = pe.sliding_window"},
};

/// What to write instead of `name`, which is not in `known`; empty without a suggestion.
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

LogicalResult mlir::pe::verifyDefinedAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef full = attribute.getName().getValue(), name = full;
    const bool isOurs = name.consume_front("pe.");
    if ((name.contains('.') && !isOurs) || llvm::is_contained(kNotes, full))
      continue;
    SmallVector<StringRef> names;
    for (StringAttr known : op->getName().getAttributeNames())
      if (known.getValue() != "operandSegmentSizes")
        names.push_back(known.getValue());
    InFlightDiagnostic diagnostic = op->emitOpError("expected "); // attribute-C1
    if (names.empty())
      diagnostic << "no attributes";
    else
      diagnostic << "no attributes but " << llvm::join(names, ", ");
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
    return success(); // the former have the trait DefinedAttributes
  return op->emitOpError("expected no attribute of pe outside of its operations, arguments and "
                         "results, found '") // attribute-C2
         << attribute.getName().getValue() << "' (attribute-C2)";
}
