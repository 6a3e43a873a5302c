//===- SourceNames.h - the user's names of values and places ----*- C++ -*-===//
//
// Names of arguments, axes and source locations, as messages and `pe explain` print them.
//
//===----------------------------------------------------------------------===//

#ifndef PE_PASSES_ANALYSIS_SOURCENAMES_H
#define PE_PASSES_ANALYSIS_SOURCENAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

namespace mlir::pe {

/// Returns the name of a captured value: that of the function argument, or else a description.
std::string nameOfCapture(func::FuncOp function, Value capture);
SmallVector<std::string> namesOfCaptures(func::FuncOp function, ValueRange captures);

/// Returns "file:line:col", the user's innermost position, or "an unknown location".
std::string describeLocation(Location loc);
/// Returns all locations that an op was merged from.
std::string describePlaces(Location loc);

/// Describes the axes of the arguments among `captures`, such as "f[batch, key]", if specified.
llvm::json::Array describeAxes(func::FuncOp function, ValueRange captures);

/// Prints a line with the "location" of a description and its "parameters", if it has any.
void printSource(llvm::raw_ostream &os, const llvm::json::Object &description);
/// Prints a line with the "data" of a description, if there is any. Neither ends the line.
void printData(llvm::raw_ostream &os, const llvm::json::Object &description);

} // namespace mlir::pe

#endif // PE_PASSES_ANALYSIS_SOURCENAMES_H
