//===- PEArgumentAttributes.cpp - pe.name, pe.init and the like -----------===//
//
// Constraints argument-C1 to argument-C7 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEDialect.h"
#include "runtime/plan/Expression.h"

#include "llvm/ADT/SmallVector.h"
#include <cmath>
#include <optional>

using namespace mlir;
using namespace mlir::pe;

namespace {

using EmitError = function_ref<InFlightDiagnostic()>;

/// A finite number, from a float or an integer attribute.
std::optional<double> getNumber(Attribute attribute) {
  double value = 0;
  if (auto number = dyn_cast<FloatAttr>(attribute))
    value = number.getValueAsDouble();
  else if (auto integer = dyn_cast<IntegerAttr>(attribute))
    value = static_cast<double>(integer.getInt());
  else
    return std::nullopt;
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// "uniform(0,2)" has the word "uniform" and the arguments 0 and 2.
struct InitCall {
  StringRef word;
  SmallVector<StringRef> arguments;
};

std::optional<InitCall> parseInitCall(StringRef text) {
  InitCall call;
  auto [word, rest] = text.split('(');
  call.word = word.trim();
  if (word.size() == text.size())
    return call;
  if (!rest.consume_back(")"))
    return std::nullopt;
  rest.split(call.arguments, ',');
  for (StringRef &argument : call.arguments)
    argument = argument.trim();
  return call;
}

bool areNumbers(ArrayRef<StringRef> texts, size_t count) {
  return texts.size() == count && llvm::all_of(texts, [](StringRef text) {
           double value = 0;
           return !text.getAsDouble(value) && std::isfinite(value);
         });
}

bool isValidInit(StringRef text) {
  std::optional<InitCall> call = parseInitCall(text);
  if (!call)
    return false;
  ArrayRef<StringRef> arguments = call->arguments;
  if (call->word == "linear")
    return arguments.empty() || areNumbers(arguments, 1);
  if (call->word == "xavier" || call->word == "normal")
    return areNumbers(arguments, 1);
  if (call->word == "uniform")
    return areNumbers(arguments, 2);
  return call->word == "slopes" && arguments == ArrayRef<StringRef>{"geometric"};
}

LogicalResult verifyInit(Attribute value, EmitError emitError) {
  auto text = dyn_cast<StringAttr>(value);
  if (getNumber(value) || (text && isValidInit(text)))
    return success();
  return emitError() << "expected pe.init to be a number, \"linear\", \"linear(fan_in)\", " // C3
                        "\"xavier(gain)\", \"normal(std)\", \"uniform(a,b)\" or "
                        "\"slopes(geometric)\", found "
                     << value << " (argument-C3)";
}

LogicalResult verifyMonitor(Attribute value, EmitError emitError) {
  auto entries = dyn_cast<DictionaryAttr>(value);
  if (!entries || !llvm::all_of(entries, [](NamedAttribute entry) {
        return isa<StringAttr>(entry.getValue());
      }))
    return emitError() << "expected pe.monitor to be named expressions such as " // argument-C6
                          "{L = \"abs(L_multiplier) * 512\"}, found "
                       << value << " (argument-C6)";
  for (NamedAttribute entry : entries) {
    auto result = ::pe::plan::parseExpression(cast<StringAttr>(entry.getValue()).getValue());
    if (auto *error = std::get_if<::pe::plan::ExpressionError>(&result)) // argument-C7
      return emitError() << "expected a formula as " << entry.getName() << " of pe.monitor, found "
                         << entry.getValue() << "; at character " << error->offset + 1 << ": "
                         << error->message << " (argument-C7)";
  }
  return success();
}

/// One attribute of an argument (`isArgument`) or a result.
LogicalResult verifyPort(NamedAttribute attribute, bool isArgument, EmitError emitError) {
  StringRef name = attribute.getName().getValue();
  Attribute value = attribute.getValue();
  if (name == "pe.name") {
    if (!isa<StringAttr>(value)) // argument-C2
      return emitError() << "expected pe.name to be a string, found " << value << " (argument-C2)";
    return success();
  }
  if (isArgument && name == "pe.init")
    return verifyInit(value, emitError);
  if (isArgument && name == "pe.monitor")
    return verifyMonitor(value, emitError);
  if (isArgument && name == "pe.min") {
    if (!getNumber(value)) // argument-C4
      return emitError() << "expected pe.min to be a finite number, found " << value
                         << " (argument-C4)";
    return success();
  }
  if (isArgument && name == "pe.decay") {
    if (!isa<BoolAttr>(value)) // argument-C5
      return emitError() << "expected pe.decay to be true or false, found " << value
                         << " (argument-C5)";
    return success();
  }
  const StringRef names[] = {"pe.name", "pe.init", "pe.min", "pe.decay", "pe.monitor"};
  ArrayRef<StringRef> known = ArrayRef(names).take_front(isArgument ? std::size(names) : 1);
  StringRef nearest = findNearestName(name, known);
  std::string advice = nearest.empty() ? "" : ("; did you mean '" + nearest + "'?").str();
  return emitError() << "expected " // argument-C1
                     << (isArgument ? "pe.name, pe.init, pe.min, pe.decay or pe.monitor on an "
                                      "argument, found "
                                    : "pe.name on a result, found ")
                     << name << advice << " (argument-C1)";
}

} // namespace

LogicalResult PEDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned number,
                                                  NamedAttribute attribute) {
  return verifyPort(attribute, /*isArgument=*/true, [&] {
    // A declaration has no body: its own place is the nearest there is.
    Region &body = op->getRegion(region);
    return mlir::emitError(body.empty() ? op->getLoc() : body.getArgument(number).getLoc());
  });
}

LogicalResult PEDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                                     NamedAttribute attribute) {
  return verifyPort(attribute, /*isArgument=*/false, [&] { return mlir::emitError(op->getLoc()); });
}
