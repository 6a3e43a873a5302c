//===- ExportProgram.cpp - Export of a function to JSON -------------------===//

#include "dialect/PE/ExportProgram.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace mlir;
namespace json = llvm::json;

namespace {

template <typename T> std::string print(T value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

json::Value exportText(StringRef text) {
  return json::isUTF8(text) ? text.str() : json::fixUTF8(text);
}

json::Value exportFloat(const APFloat &value) {
  APFloat wide = value;
  bool losesInfo = false;
  wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  double number = wide.convertToDouble();
  if (std::isnan(number))
    return "nan";
  if (std::isinf(number))
    return number > 0 ? "inf" : "-inf";
  return number;
}

json::Value exportInteger(const APInt &value) {
  if (value.getBitWidth() == 1)
    return value.getBoolValue();
  return value.getSExtValue();
}

/// Exports "#pe.activation<relu>" as "relu", and any other attribute in its MLIR syntax.
json::Value exportOther(Attribute attribute) {
  std::string text = print(attribute);
  StringRef word = text;
  size_t open = word.find('<');
  if (word.consume_front("#") && open != StringRef::npos && word.consume_back(">")) {
    word = word.drop_front(open);
    if (llvm::all_of(word, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
      return exportText(word);
  }
  return exportText(text);
}

json::Value exportAttribute(Attribute attribute);

json::Value exportElements(DenseElementsAttr elements) {
  json::Array list;
  if (isa<FloatType>(elements.getElementType()))
    for (const APFloat &value : elements.getValues<APFloat>())
      list.push_back(exportFloat(value));
  else
    for (const APInt &value : elements.getValues<APInt>())
      list.push_back(exportInteger(value));
  return list;
}

json::Object exportAttributes(DictionaryAttr attributes) {
  json::Object object;
  if (attributes)
    for (NamedAttribute entry : attributes)
      object[exportText(entry.getName().getValue()).getAsString()->str()] =
          exportAttribute(entry.getValue());
  return object;
}

json::Value exportAttribute(Attribute attribute) {
  return llvm::TypeSwitch<Attribute, json::Value>(attribute)
      .Case([](FloatAttr value) { return exportFloat(value.getValue()); })
      .Case([](IntegerAttr value) { return exportInteger(value.getValue()); })
      .Case([](StringAttr value) { return exportText(value.getValue()); })
      .Case([](UnitAttr) { return json::Value(true); })
      .Case([](DenseI32ArrayAttr value) { return json::Array(value.asArrayRef()); })
      .Case([](DenseI64ArrayAttr value) { return json::Array(value.asArrayRef()); })
      .Case([](ArrayAttr value) {
        json::Array list;
        for (Attribute element : value)
          list.push_back(exportAttribute(element));
        return list;
      })
      .Case([](DictionaryAttr value) { return exportAttributes(value); })
      .Case([](DenseIntOrFPElementsAttr value) { return exportElements(value); })
      .Default(exportOther);
}

/// Returns the first file location in `loc`, which is the user's line even after inlining.
std::string exportLocation(Location loc) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  if (!place)
    return "";
  return place.getFilename().str() + ":" + std::to_string(place.getLine()) + ":" +
         std::to_string(place.getColumn());
}

class Exporter {
public:
  json::Object exportFunction(func::FuncOp function);

private:
  int64_t define(Value value) { return ids.try_emplace(value, ids.size()).first->second; }
  json::Value exportDefinition(Value value) {
    return json::Object{{"id", define(value)}, {"type", print(value.getType())}};
  }
  json::Array exportBody(Block &block);
  json::Object exportOp(Operation &op);

  DenseMap<Value, int64_t> ids;
};

json::Object Exporter::exportOp(Operation &op) {
  json::Array operands, results, types, regions;
  for (Value operand : op.getOperands())
    operands.push_back(define(operand));
  for (Region &region : op.getRegions()) {
    json::Array arguments;
    for (BlockArgument argument : region.getArguments())
      arguments.push_back(exportDefinition(argument));
    regions.push_back(
        json::Object{{"args", std::move(arguments)}, {"ops", exportBody(region.front())}});
  }
  for (Value result : op.getResults()) {
    results.push_back(define(result));
    types.push_back(print(result.getType()));
  }
  return json::Object{{"op", op.getName().getStringRef()},
                      {"operands", std::move(operands)},
                      {"results", std::move(results)},
                      {"types", std::move(types)},
                      {"attrs", exportAttributes(op.getAttrDictionary())},
                      {"regions", std::move(regions)},
                      {"loc", exportText(exportLocation(op.getLoc()))}};
}

json::Array Exporter::exportBody(Block &block) {
  json::Array ops;
  for (Operation &op : block)
    if (!isa<func::ReturnOp>(op))
      ops.push_back(exportOp(op));
  return ops;
}

/// Returns the name of an argument or result; empty if it has no name.
json::Value exportName(DictionaryAttr attributes) {
  auto name = attributes ? attributes.getAs<StringAttr>("pe.name") : StringAttr();
  return exportText(name ? name.getValue() : "");
}

json::Object Exporter::exportFunction(func::FuncOp function) {
  json::Array arguments, returns;
  for (BlockArgument argument : function.getArguments()) {
    DictionaryAttr attributes = function.getArgAttrDict(argument.getArgNumber());
    arguments.push_back(json::Object{{"id", define(argument)},
                                     {"name", exportName(attributes)},
                                     {"type", print(argument.getType())},
                                     {"attrs", exportAttributes(attributes)}});
  }
  Block &block = function.getBody().front();
  json::Array ops = exportBody(block);
  for (auto [number, value] : llvm::enumerate(block.getTerminator()->getOperands()))
    returns.push_back(json::Object{{"id", define(value)},
                                   {"name", exportName(function.getResultAttrDict(number))}});
  return json::Object{{"name", exportText(function.getSymName())},
                      {"args", std::move(arguments)},
                      {"ops", std::move(ops)},
                      {"returns", std::move(returns)}};
}

} // namespace

std::string mlir::pe::exportProgram(func::FuncOp function) {
  return print(json::Value(Exporter().exportFunction(function)));
}
