//===- PEArgumentAttributes.cpp - Attributes of function arguments --------===//
//
// Verifies constraints argument-C1 to argument-C11 of docs/spec.md.
//
//===----------------------------------------------------------------------===//

#include "dialect/PE/PEArgumentAttributes.h"

#include "dialect/PE/PEDialect.h"
#include "runtime/plan/Expression.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>
#include <optional>

using namespace mlir;
using namespace mlir::pe;

namespace {

using EmitError = function_ref<InFlightDiagnostic()>;

/// Returns the value of a float or integer attribute if it is finite.
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
  if (call->word == "uniform" || call->word == "integers")
    return areNumbers(arguments, 2);
  return call->word == "slopes" && arguments == ArrayRef<StringRef>{"geometric"};
}

LogicalResult verifyInit(Attribute value, EmitError emitError) {
  auto text = dyn_cast<StringAttr>(value);
  if (getNumber(value) || (text && isValidInit(text)))
    return success();
  return emitError() << "expected pe.init to be a number, \"linear\", \"linear(fan_in)\", " // C3
                        "\"xavier(gain)\", \"normal(std)\", \"uniform(a,b)\", "
                        "\"integers(a,b)\" or \"slopes(geometric)\", found "
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

/// Returns true for a valid user-defined name: letters, digits and _, not starting with a digit.
bool isAxisName(StringRef word) {
  return !word.empty() && !llvm::isDigit(word.front()) &&
         llvm::all_of(word, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// Returns true for names that are reserved in size expressions (SizeNames.h).
bool isNameOfSizes(StringRef word) {
  constexpr StringRef known[] = {"b",           "hq",      "hkv",     "r",       "c",
                                 "d",           "e",       "t",       "kb",      "ks",
                                 "max",         "ceildiv", "k_start", "q_start", "head_start",
                                 "heads_total", "pages",   "page",    "capacity"};
  return llvm::is_contained(known, word) || word.starts_with("given_");
}

LogicalResult verifyAxes(Attribute value, Type type, EmitError emitError) {
  auto words = dyn_cast<ArrayAttr>(value);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!words || !tensor || static_cast<int64_t>(words.size()) != tensor.getRank() ||
      !llvm::all_of(words, llvm::IsaPred<StringAttr>)) // argument-C8
    return emitError() << "expected pe.axes to be a list of one word per dimension of " << type
                       << ", found " << value << " (argument-C8)";
  for (auto [word, size] :
       llvm::zip_equal(words.getAsValueRange<StringAttr>(), tensor.getShape())) {
    if (!isAxisName(word)) // argument-C8
      return emitError()
             << "expected an axis to be batch, head, kv_head, query, key, depth, value_depth, "
                "model or a name of letters, digits and _, found \""
             << word << "\" (argument-C8)";
    const bool isOfCall = !sizeOfAxis(word).empty();
    if (isOfCall && !ShapedType::isDynamic(size) && size != 1) // argument-C9
      return emitError() << "expected the axis \"" << word
                         << "\" to have an unknown size, set by a call, or size 1, found " << size
                         << "; write ? (argument-C9)";
    if (!isOfCall && ShapedType::isDynamic(size) && isNameOfSizes(word)) // argument-C10
      return emitError() << "expected an axis of unknown size to have a name that size expressions "
                            "do not use, found \""
                         << word << "\"; choose another name (argument-C10)";
  }
  return success();
}

/// Checks that `value` names another argument of the function, which is read if this one is absent.
LogicalResult verifyAbsent(Attribute value, FunctionOpInterface function, unsigned number,
                           EmitError emitError) {
  auto name = dyn_cast<StringAttr>(value);
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[number]);
  for (unsigned other = 0; name && type && other < function.getNumArguments(); ++other) {
    auto otherType = dyn_cast<RankedTensorType>(function.getArgumentTypes()[other]);
    if (other != number && function.getArgAttr(other, "pe.name") == name && otherType &&
        otherType.getRank() == type.getRank() &&
        otherType.getElementType() == type.getElementType() &&
        !function.getArgAttr(other, "pe.absent"))
      return success();
  }
  return emitError() << "expected pe.absent to name another argument of rank " // argument-C11
                     << (type ? type.getRank() : 0) << " and of the same element type that is "
                     << "always given, found " << value << " (argument-C11)";
}

/// Verifies an attribute of an argument (`isArgument`, with type `type`) or of a result.
LogicalResult verifyPort(NamedAttribute attribute, bool isArgument, Type type,
                         EmitError emitError) {
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
  if (isArgument && name == "pe.axes")
    return verifyAxes(value, type, emitError);
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
  const StringRef names[] = {"pe.name",    "pe.init", "pe.min",   "pe.decay",
                             "pe.monitor", "pe.axes", "pe.absent"};
  ArrayRef<StringRef> known = ArrayRef(names).take_front(isArgument ? std::size(names) : 1);
  StringRef nearest = findNearestName(name, known);
  std::string advice = nearest.empty() ? "" : ("; did you mean '" + nearest + "'?").str();
  return emitError() << "expected " // argument-C1
                     << (isArgument ? "pe.name, pe.init, pe.min, pe.decay, pe.monitor, "
                                      "pe.axes or pe.absent on an argument, found "
                                    : "pe.name on a result, found ")
                     << name << advice << " (argument-C1)";
}

} // namespace

std::string mlir::pe::extentOfAxis(StringRef word) {
  StringRef size = sizeOfAxis(word);
  return size.empty() ? word.str() : size.str();
}

StringRef mlir::pe::sizeOfAxis(StringRef word) {
  return llvm::StringSwitch<StringRef>(word)
      .Case("batch", "b")
      .Case("head", "hq")
      .Case("kv_head", "hkv")
      .Case("query", "r")
      .Case("key", "c")
      .Case("depth", "d")
      .Case("value_depth", "e")
      .Case("model", "model")
      .Default("");
}

/// Returns an attribute of a function argument; null for any other value.
template <typename AttributeT> static AttributeT attributeOf(Value value, StringRef name) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
                           : FunctionOpInterface();
  return function ? function.getArgAttrOfType<AttributeT>(argument.getArgNumber(), name)
                  : AttributeT();
}

ArrayAttr mlir::pe::axesOf(Value value) { return attributeOf<ArrayAttr>(value, "pe.axes"); }

StringRef mlir::pe::nameOfArgument(Value value) {
  auto name = attributeOf<StringAttr>(value, "pe.name");
  return name ? name.getValue() : "";
}

LogicalResult PEDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned number,
                                                  NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  Type type = function ? function.getArgumentTypes()[number] : Type();
  auto emitError = [&] {
    // A declaration has no body, so its own location is the closest.
    Region &body = op->getRegion(region);
    return mlir::emitError(body.empty() ? op->getLoc() : body.getArgument(number).getLoc());
  };
  if (function && attribute.getName() == "pe.absent")
    return verifyAbsent(attribute.getValue(), function, number, emitError);
  return verifyPort(attribute, /*isArgument=*/true, type, emitError);
}

LogicalResult PEDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                                     NamedAttribute attribute) {
  return verifyPort(attribute, /*isArgument=*/false, Type(),
                    [&] { return mlir::emitError(op->getLoc()); });
}
