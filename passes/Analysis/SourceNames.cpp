//===- SourceNames.cpp - the user's names of values and places ------------===//

#include "passes/Analysis/SourceNames.h"

#include "llvm/ADT/StringExtras.h"

namespace mlir::pe {
namespace {

/// Prints the names after `title`, or nothing if there are none.
void printNames(llvm::raw_ostream &os, StringRef title, const llvm::json::Array *names) {
  if (!names || names->empty())
    return;
  llvm::ListSeparator comma;
  os << title;
  for (const llvm::json::Value &name : *names)
    os << comma << *name.getAsString();
}

} // namespace

std::string nameOfCapture(func::FuncOp function, Value capture) {
  auto argument = dyn_cast<BlockArgument>(capture);
  if (!argument || argument.getOwner()->getParentOp() != function)
    return "constant";
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "pe.name");
  return name ? name.str() : "argument " + std::to_string(argument.getArgNumber());
}

SmallVector<std::string> namesOfCaptures(func::FuncOp function, ValueRange captures) {
  return llvm::map_to_vector(captures,
                             [&](Value capture) { return nameOfCapture(function, capture); });
}

std::string describeLocation(Location loc) {
  FileLineColLoc found;
  loc->walk([&](Location inner) {
    found = dyn_cast<FileLineColLoc>(inner);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!found)
    return "an unknown location";
  return (found.getFilename().getValue() + ":" + Twine(found.getLine()) + ":" +
          Twine(found.getColumn()))
      .str();
}

std::string describePlaces(Location loc) {
  auto fused = dyn_cast<FusedLoc>(loc);
  if (!fused)
    return describeLocation(loc);
  SmallVector<std::string> places;
  for (Location inner : fused.getLocations())
    if (std::string place = describeLocation(inner); !llvm::is_contained(places, place))
      places.push_back(place);
  return llvm::join(places, " and ");
}

llvm::json::Array describeAxes(func::FuncOp function, ValueRange captures) {
  llvm::json::Array all;
  for (Value capture : captures) {
    auto argument = dyn_cast<BlockArgument>(capture);
    auto axes = argument ? function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "pe.axes")
                         : ArrayAttr();
    if (axes)
      all.push_back(nameOfCapture(function, capture) + "[" +
                    llvm::join(axes.getAsValueRange<StringAttr>(), ", ") + "]");
  }
  return all;
}

void printSource(llvm::raw_ostream &os, const llvm::json::Object &description) {
  os << "\n    at " << *description.getString("location");
  printNames(os, ", parameters ", description.getArray("parameters"));
}

void printData(llvm::raw_ostream &os, const llvm::json::Object &description) {
  printNames(os, "\n    data: ", description.getArray("data"));
}

} // namespace mlir::pe
